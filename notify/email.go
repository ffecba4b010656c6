package notify

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"

	gomail "github.com/wneessen/go-mail"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/internal/outbound"
	"github.com/hocket-dev/hocket/project"
)

// authorities are those that servers are checked with; nil: those of the system.
var authorities *tls.Config

// mail sends a notice by e-mail.
func mail(ctx context.Context, to *hocket.Notification, n Notice) error {
	e := to.Email
	m, err := message(e, n)
	if err != nil {
		return permanent{err}
	}
	host, port, err := net.SplitHostPort(e.Server)
	if err != nil {
		return permanent{err}
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return permanent{err}
	}
	policy := outbound.Policy{Private: e.PrivateNetwork}
	security := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != nil {
		security = authorities.Clone()
	}
	security.ServerName = host
	options := []gomail.Option{gomail.WithPort(number), gomail.WithTimeout(tryTime), gomail.WithDialContextFunc(policy.Dial), gomail.WithTLSConfig(security)}
	switch e.TLS {
	case project.TLS:
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := policy.Dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return tls.Client(conn, security), nil
		}
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS), gomail.WithDialContextFunc(dial))
	case project.NoTLS:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if e.User != "" {
		// The last two send the password, and refuse to do so without encryption.
		ways := gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin)
		options = append(options, ways, gomail.WithUsername(e.User), gomail.WithPassword(to.Password))
	}
	c, err := gomail.NewClient(host, options...)
	if err != nil {
		return permanent{err}
	}
	err = c.DialAndSendWithContext(ctx, m)
	var failed *gomail.SendError
	switch {
	case m.IsDelivered():
		return nil // whatever happened after that
	case errors.Is(err, outbound.ErrRefused):
		return plain(err)
	case errors.As(err, &failed) && !failed.IsTemp() && failed.ErrorCode() >= 500:
		return permanent{err}
	}
	return err
}

// message writes an e-mail. The library encodes headers; none of them has more than one line.
func message(e *project.Email, n Notice) (*gomail.Msg, error) {
	m := gomail.NewMsg()
	if err := m.From(e.From); err != nil {
		return nil, err
	}
	if err := m.To(e.To...); err != nil {
		return nil, err
	}
	m.Subject("[Hocket] " + line(n.Title, maxTitle))
	m.SetDate()
	// If a message is sent twice, mail programs show it once.
	id := sha256.Sum256([]byte(n.Link + string(n.Reason) + n.At.String() + n.Title))
	m.SetMessageIDWithValue(fmt.Sprintf("%x@hocket.invalid", id[:20]))
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	text := n.Title + "\n"
	if n.Text != "" {
		text += "\n" + n.Text + "\n"
	}
	text += "\n" + n.Link + "\n\nProject " + n.Project
	if n.Run != "" {
		text += ", run " + n.Run
	}
	text += "\n"
	m.SetBodyString(gomail.TypeTextPlain, text)
	return m, nil
}
