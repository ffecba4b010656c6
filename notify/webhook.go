package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/internal/outbound"
)

// post sends a notice to a webhook.
func post(ctx context.Context, to *hocket.Notification, notice Notice) error {
	u, err := url.Parse(to.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		return permanent{errors.New("the address of the webhook is not a valid http or https URL")} // it may be secret
	}
	header := http.Header{"User-Agent": {"hocket"}}
	body, err := format(to.Webhook.Format, notice, header)
	if err != nil {
		return permanent{err}
	}
	for name, value := range to.Headers {
		header.Set(name, value)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return permanent{errors.New("the address of the webhook is invalid")}
	}
	req.Header = header
	res, err := send(req, outbound.Policy{Private: to.Webhook.PrivateNetwork})
	if err != nil {
		return plain(err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 == 2 {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(res.Body, 300)) // only for the log
	err = fmt.Errorf("%s: %s", res.Status, line(string(said), 300))
	if res.StatusCode/100 == 5 || res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusRequestTimeout {
		return err
	}
	return permanent{err}
}

// send makes a request, to public addresses only unless the policy says otherwise. It follows no redirect: a
// receiver that has moved should be named.
func send(req *http.Request, policy outbound.Policy) (*http.Response, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	proxy, err := http.ProxyFromEnvironment(req)
	if err != nil {
		return nil, err
	}
	if proxy != nil {
		if err := policy.Permit(req.Context(), req.URL.Hostname(), req.URL.Port()); err != nil {
			return nil, err
		}
	} else {
		transport.DialContext = policy.Dial
	}
	transport.DisableKeepAlives = true
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client.Do(req)
}

// plain returns an error without the URL, which may be secret. A refused address stays refused.
func plain(err error) error {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		err = withURL.Err
	}
	if errors.Is(err, outbound.ErrRefused) {
		return permanent{fmt.Errorf("%w; if this is meant, set private_network in config.yml", err)}
	}
	return err
}

// format returns the body of a request in the form that a receiver expects, and adds its headers.
func format(name string, n Notice, header http.Header) ([]byte, error) {
	var body any = n
	switch name {
	case "slack":
		body = map[string]any{"text": slack.Replace(n.Title) + "\n" + quote(slack.Replace(n.Text)) + "<" + n.Link + "|Open in Hocket>", "unfurl_links": false}
	case "discord":
		// Discord accepts 2,000 characters, and escaping may double the text.
		text := "**" + discord.Replace(n.Title) + "**\n" + quote(discord.Replace(lines(n.Text, 450))) + "<" + n.Link + ">"
		body = map[string]any{"content": text, "allowed_mentions": map[string]any{"parse": []string{}}} // nobody is mentioned
	case "ntfy":
		// A header has one line, and other characters than those of ASCII are encoded.
		header.Set("Title", mime.QEncoding.Encode("utf-8", n.Title))
		header.Set("Click", n.Link)
		if n.Reason == Waiting || n.Reason == Failed {
			header.Set("Priority", "high")
		}
		header.Set("Content-Type", "text/plain; charset=utf-8")
		text := n.Text
		if text == "" {
			text = n.Run
		}
		return []byte(text), nil
	}
	header.Set("Content-Type", "application/json")
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(body)
	return b.Bytes(), err
}

// quote marks each line as quoted: it is not ours.
func quote(text string) string {
	if text == "" {
		return ""
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ") + "\n"
}

// slack escapes what Slack would take for links and mentions, such as <!channel>.
var slack = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// discord escapes Markdown.
var discord = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "|", `\|`, ">", `\>`, "<", `\<`, "#", `\#`, "[", `\[`, "]", `\]`, "(", `\(`, ")", `\)`, "-", `\-`)
