package browser

import (
	"context"
	"strings"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// wire carries the messages between us and a browser. Events are handed on in the
// order in which they came; the client behind the wire sees answers only, and the
// events by which it finds its first page. So nothing that a page causes, and no
// flood of it, piles up there.
type wire struct {
	*chromedp.PipeConn
	onEvent func(event) // must not block
}

// event is something that happened in the browser.
type event struct {
	session target.SessionID // of the page; "": the browser as a whole
	message *cdproto.Message
}

// Read gives the next message that is for the client.
func (w *wire) Read(ctx context.Context, msg *cdproto.Message) error {
	for {
		*msg = cdproto.Message{}
		if err := w.PipeConn.Read(ctx, msg); err != nil {
			return err
		}
		if msg.ID != 0 {
			return nil
		}
		own := *msg // the caller may use its own again
		w.onEvent(event{session: msg.SessionID, message: &own})
		if msg.SessionID == "" && strings.HasPrefix(string(msg.Method), "Target.") {
			return nil
		}
	}
}
