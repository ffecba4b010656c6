package notify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/smtp"
	"net/textproto"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/internal/outbound"
	"github.com/hocket-dev/hocket/project"
)

// authorities are those that servers are checked with; nil: those of the system.
var authorities *tls.Config

// mail sends a notice by e-mail.
func mail(ctx context.Context, to *hocket.Notification, n Notice) error {
	err := transmit(ctx, to.Email, to.Password, message(to.Email, n, time.Now()))
	var answer *textproto.Error
	switch {
	case errors.Is(err, outbound.ErrRefused):
		return plain(err)
	case errors.As(err, &answer) && answer.Code >= 500:
		return permanent{err}
	}
	return err
}

// transmit hands a message to the SMTP server. The library knows no contexts, but the connection has the
// deadline of ours.
func transmit(ctx context.Context, e *project.Email, password string, text []byte) error {
	host, _, err := net.SplitHostPort(e.Server)
	if err != nil {
		return permanent{err}
	}
	conn, err := outbound.Policy{Private: e.PrivateNetwork}.Dial(ctx, "tcp", e.Server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // also if the greeting fails
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			return err
		}
	}
	security := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != nil {
		security = authorities.Clone()
	}
	security.ServerName = host
	if e.TLS == project.TLS {
		conn = tls.Client(conn, security)
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	if err := greet(c, e, security); err != nil {
		return err
	}
	if e.User != "" {
		if err := logIn(c, e.User, password, host); err != nil {
			return err
		}
	}
	if err := c.Mail(e.From); err != nil {
		return err
	}
	for _, address := range e.To {
		if err := c.Rcpt(address); err != nil {
			return err
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_ = c.Quit() // the message is delivered, whatever happens after that
	return nil
}

// greet opens the conversation, encrypted if it should be.
func greet(c *smtp.Client, e *project.Email, security *tls.Config) error {
	if name, err := os.Hostname(); err == nil {
		if err := c.Hello(name); err != nil {
			return err
		}
	}
	if e.TLS != project.StartTLS {
		return nil
	}
	if ok, _ := c.Extension("STARTTLS"); !ok {
		return permanent{errors.New("the server does not support STARTTLS")}
	}
	return c.StartTLS(security)
}

// logIn sends the password, in one of the two ways that servers know. The connection is encrypted:
// both ways refuse to send it otherwise.
func logIn(c *smtp.Client, user, password, host string) error {
	_, ways := c.Extension("AUTH")
	switch offered := strings.Fields(ways); {
	case slices.Contains(offered, "PLAIN"):
		return c.Auth(smtp.PlainAuth("", user, password, host))
	case slices.Contains(offered, "LOGIN"):
		return c.Auth(&loginAuth{user, password})
	}
	return permanent{fmt.Errorf("the server offers no login with a password that Hocket supports: PLAIN or LOGIN (it offers %q)", ways)}
}

// loginAuth answers the two questions of AUTH LOGIN: the user first, whatever words a server uses.
type loginAuth struct{ user, password string }

func (a *loginAuth) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !server.TLS {
		return "", nil, permanent{errors.New("a password is not sent without encryption")}
	}
	return "LOGIN", nil, nil
}

func (a *loginAuth) Next(_ []byte, more bool) (answer []byte, err error) {
	if !more {
		return nil, nil
	}
	answer, a.user, a.password = []byte(a.user), a.password, ""
	return answer, nil
}

// message writes an e-mail. No header has a line break of the notice: a title is one line.
func message(e *project.Email, n Notice, now time.Time) []byte {
	facts, _ := json.Marshal(n) // can always be written
	id := sha256.Sum256(facts)  // if a message is sent twice, mail programs show it once
	subject := mime.QEncoding.Encode("utf-8", "[Hocket] "+line(n.Title, maxTitle))
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", "<" + e.From + ">"},
		{"To", "<" + strings.Join(e.To, ">,\r\n <") + ">"},
		{"Subject", strings.ReplaceAll(subject, "?= =?", "?=\r\n =?")},
		{"Date", now.Format(time.RFC1123Z)},
		{"Message-ID", fmt.Sprintf("<%x@hocket.invalid>", id[:20])},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	b.WriteString("\r\n")
	text := n.Title + "\n"
	if n.Text != "" {
		text += "\n" + n.Text + "\n"
	}
	text += "\n" + n.Link + "\n\nProject " + n.Project
	if n.Run != "" {
		text += ", run " + n.Run
	}
	body := quotedprintable.NewWriter(&b)
	_, _ = body.Write([]byte(text + "\n")) // to memory
	_ = body.Close()
	return b.Bytes()
}
