package browser

import (
	"context"
	"strings"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// wire carries the messages between us and a browser. Events are passed on in order; the
// client behind the wire sees only responses, and the events with which it finds its first
// page. So nothing that a page causes can pile up there.
type wire struct {
	*chromedp.PipeConn
	onEvent func(event) // must not block
}

// event is something that happened in the browser.
type event struct {
	session target.SessionID // of the page; "": the browser as a whole
	message *cdproto.Message
}

// Read returns the next message for the client.
func (w *wire) Read(ctx context.Context, msg *cdproto.Message) error {
	for {
		*msg = cdproto.Message{}
		if err := w.PipeConn.Read(ctx, msg); err != nil {
			return err
		}
		if msg.ID != 0 {
			return nil
		}
		own := *msg // the caller may reuse its own
		w.onEvent(event{session: msg.SessionID, message: &own})
		if msg.SessionID == "" && strings.HasPrefix(string(msg.Method), "Target.") {
			return nil
		}
	}
}
