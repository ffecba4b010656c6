package notify

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/project"
)

// postOffice is a real SMTP server.
type postOffice struct {
	address   string
	mechanism string // of logging in
	mu        sync.Mutex
	got       []letter
	refuse    []error
}

type letter struct {
	from, user string
	to         []string
	text       string
	encrypted  bool
}

// visit is one connection to a post office.
type visit struct {
	office *postOffice
	conn   *smtp.Conn
	letter letter
}

func (v *visit) Reset()        { v.letter = letter{user: v.letter.user} }
func (v *visit) Logout() error { return nil }
func (v *visit) Mail(from string, _ *smtp.MailOptions) error {
	v.letter.from = from
	return nil
}

func (v *visit) Rcpt(to string, _ *smtp.RcptOptions) error {
	v.office.mu.Lock()
	defer v.office.mu.Unlock()
	if len(v.office.refuse) > 0 {
		err := v.office.refuse[0]
		v.office.refuse = v.office.refuse[1:]
		return err
	}
	v.letter.to = append(v.letter.to, to)
	return nil
}

func (v *visit) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	_, v.letter.encrypted = v.conn.TLSConnectionState()
	v.letter.text = string(text)
	v.office.mu.Lock()
	defer v.office.mu.Unlock()
	v.office.got = append(v.office.got, v.letter)
	return err
}

func (v *visit) AuthMechanisms() []string { return []string{v.office.mechanism} }
func (v *visit) Auth(string) (sasl.Server, error) {
	check := func(_, user, password string) error {
		if user != "me@example.org" || password != "hunter-1234" {
			return &smtp.SMTPError{Code: 535, Message: "wrong password"}
		}
		v.letter.user = user
		return nil
	}
	if v.office.mechanism == sasl.Login {
		return &loginServer{check: check}, nil
	}
	return sasl.NewPlainServer(check), nil
}

// loginServer asks as most servers do for AUTH LOGIN.
type loginServer struct {
	given []string
	check func(identity, user, password string) error
}

func (s *loginServer) Next(response []byte) (challenge []byte, done bool, err error) {
	if response != nil {
		s.given = append(s.given, string(response))
	}
	if len(s.given) < 2 {
		return []byte([]string{"Username:", "Password:"}[len(s.given)]), false, nil
	}
	return nil, true, s.check("", s.given[0], s.given[1])
}

// newPostOffice starts a server: "plain", with "starttls", or with "tls" from the start, or with
// "login", which is the old way to log in after "starttls".
func newPostOffice(t *testing.T, kind string) *postOffice {
	t.Helper()
	office := &postOffice{mechanism: sasl.Plain}
	s := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &visit{office: office, conn: c}, nil }))
	s.Domain, s.AllowInsecureAuth = "localhost", kind == "plain"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	office.address = l.Addr().String()
	if kind == "login" {
		office.mechanism = sasl.Login
	}
	if kind != "plain" {
		s.TLSConfig = certified(t)
	}
	if kind == "tls" {
		l = tls.NewListener(l, s.TLSConfig)
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return office
}

// certified makes a certificate for loopback, which notifications then accept.
func certified(t *testing.T) *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	authorities = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	t.Cleanup(func() { authorities = nil })
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
}

func (p *postOffice) until(t *testing.T, count int) []letter {
	t.Helper()
	all := func() []letter {
		p.mu.Lock()
		defer p.mu.Unlock()
		return append([]letter(nil), p.got...)
	}
	wait(t, "letter", func() bool { return len(all()) >= count })
	return all()
}

func TestEmail(t *testing.T) {
	t.Setenv("MAIL_PASSWORD", "hunter-1234")
	for _, kind := range []string{"plain", "starttls", "tls", "login"} {
		t.Run(kind, func(t *testing.T) {
			office := newPostOffice(t, kind)
			login, security := ", user: me@example.org, password: {secret: MAIL}", kind
			switch kind {
			case "plain":
				login, security = ", from: me@example.org", "none"
			case "login":
				security = "starttls"
			}
			o := newOffice(t, "secrets: {MAIL: {env: MAIL_PASSWORD}}\nnotify:\n  - {on: waiting, email: {to: [ada@example.org, bob@example.org], server: \""+office.address+"\", private_network: true, tls: "+security+login+"}}\n").trust()
			o.serve()
			run := o.run("gate")
			got := office.until(t, 1)[0]
			m, err := netmail.ReadMessage(strings.NewReader(got.text))
			if err != nil {
				t.Fatal(err)
			}
			subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
			if err != nil || subject != "[Hocket] gate waits for you" {
				t.Errorf("%v %q", err, subject)
			}
			body, _ := io.ReadAll(quotedprintable.NewReader(m.Body))
			if !strings.Contains(string(body), "Publish <!channel> *now*?") || !strings.Contains(string(body), "https://hocket.example/runs/"+run) {
				t.Errorf("%s", body)
			}
			if m.Header.Get("Bcc") != "" || strings.Join(got.to, " ") != "ada@example.org bob@example.org" || got.from != "me@example.org" || m.Header.Get("Auto-Submitted") != "auto-generated" {
				t.Errorf("%+v", got)
			}
			if kind != "plain" && (!got.encrypted || got.user != "me@example.org") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A server that offers no encryption gets neither the message nor the password, if encryption is wanted.
func TestEmailIsEncrypted(t *testing.T) {
	office := newPostOffice(t, "plain")
	o := newOffice(t, "notify:\n  - {on: done, email: {to: ada@example.org, from: me@example.org, server: \""+office.address+"\", private_network: true}}\n").trust()
	o.serve()
	o.run("hello")
	wait(t, "failure", func() bool { return strings.Contains(o.logged(), "notification not delivered\"") })
	if len(office.got) > 0 {
		t.Errorf("%+v", office.got)
	}
}

// A wrong password is not tried again, and the message is not sent without it.
func TestEmailWrongPassword(t *testing.T) {
	t.Setenv("MAIL_PASSWORD", "wrong-1234")
	office := newPostOffice(t, "starttls")
	o := newOffice(t, "secrets: {MAIL: {env: MAIL_PASSWORD}}\nnotify:\n  - {on: done, email: {to: ada@example.org, user: me@example.org, password: {secret: MAIL}, server: \""+office.address+"\", private_network: true}}\n").trust()
	o.serve()
	o.run("hello")
	wait(t, "failure", func() bool { return strings.Contains(o.logged(), "notification not delivered\"") })
	if len(office.got) > 0 || strings.Contains(o.logged(), "not delivered yet") {
		t.Errorf("%+v\n%s", office.got, o.logged())
	}
}

// A temporary failure is repeated, a permanent one is not.
func TestEmailRetries(t *testing.T) {
	office := newPostOffice(t, "plain")
	office.refuse = []error{&smtp.SMTPError{Code: 451, Message: "later"}}
	o := newOffice(t, "notify:\n  - {on: done, email: {to: ada@example.org, from: me@example.org, tls: none, server: \""+office.address+"\", private_network: true}}\n").trust()
	o.serve()
	o.run("hello")
	office.until(t, 1)
	office.mu.Lock()
	office.refuse = []error{&smtp.SMTPError{Code: 550, Message: "no such user"}}
	office.mu.Unlock()
	o.run("hello")
	wait(t, "failure", func() bool { return strings.Contains(o.logged(), "notification not delivered\"") })
	if got := office.until(t, 1); len(got) != 1 {
		t.Errorf("%d letters", len(got))
	}
}

// A title with line breaks cannot add a header.
func TestHeaders(t *testing.T) {
	o := newOffice(t, "notify:\n  - {on: done, email: {to: ada@example.org, from: me@example.org, server: \"a.example:25\"}}\n").trust()
	all, err := o.p.Notifications()
	if err != nil {
		t.Fatal(err)
	}
	text := message(all[0].Email, Notice{Title: "a\r\nBcc: eve@example.org\n\nbody"}, time.Now())
	read, err := netmail.ReadMessage(bytes.NewReader(text))
	if err != nil || read.Header.Get("Bcc") != "" || !strings.Contains(read.Header.Get("Subject"), "Bcc: eve@example.org") {
		t.Errorf("%v %s", err, text)
	}
}

// Every character arrives, and no line is longer than mail servers accept.
func TestMessageIsReadable(t *testing.T) {
	title := strings.Repeat("ワークフロー ", 20) + "€"
	body := "Größe =\n.\n" + strings.Repeat("x", 2000) + "\nende"
	text := message(&project.Email{From: "me@example.org", To: []string{"ada@example.org", "bob@example.org"}},
		Notice{Title: title, Text: body, Link: "https://h.example/runs/1?a=b", Project: "shop", Run: "r-1"}, time.Now())
	for l := range strings.SplitSeq(string(text), "\r\n") {
		if len(l) > 998 || strings.ContainsAny(l, "\r\n") {
			t.Errorf("the line %q", l)
		}
	}
	m, err := netmail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil || subject != "[Hocket] "+title {
		t.Errorf("%v: subject %q", err, subject)
	}
	if to, err := m.Header.AddressList("To"); err != nil || len(to) != 2 || to[1].Address != "bob@example.org" {
		t.Errorf("%v: to %v", err, to)
	}
	if date, err := m.Header.Date(); err != nil || time.Since(date) > time.Minute {
		t.Errorf("%v: date %v", err, date)
	}
	got, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	want := title + "\n\n" + body + "\n\nhttps://h.example/runs/1?a=b\n\nProject shop, run r-1\n"
	if err != nil || strings.ReplaceAll(string(got), "\r\n", "\n") != want {
		t.Errorf("%v: body %q", err, got)
	}
}

// A test reaches everyone whom the project names, whatever they want to know, and says what fails.
func TestTest(t *testing.T) {
	post, box := newPostOffice(t, "plain"), newMailbox(t)
	o := newOffice(t, "notify:\n"+
		"  - {on: waiting, email: {to: ada@example.org, from: me@example.org, server: \""+post.address+"\", private_network: true, tls: none}}\n"+
		"  - {on: {cost: 5}, webhook: {url: \""+box.URL+"\", private_network: true}}\n"+
		"  - {on: done, webhook: {url: \""+box.URL+"\"}}\n")
	options := Options{Project: o.p, Name: "shop", Link: func(string) string { return "https://h.example/projects/shop" }}
	var untrusted *hocket.UntrustedError
	if _, err := Test(t.Context(), options); !errors.As(err, &untrusted) || len(box.all()) > 0 {
		t.Fatalf("before it was approved: %v", err)
	}
	o.trust()
	all, err := Test(t.Context(), options)
	if err != nil || len(all) != 3 || all[0].Err != nil || all[1].Err != nil || all[2].Err == nil {
		t.Fatalf("%+v, %v", all, err)
	}
	got := box.all()
	if len(got) != 1 || !strings.Contains(got[0], `"reason":"test"`) || !strings.Contains(got[0], "https://h.example/projects/shop") {
		t.Errorf("the webhook got %q", got)
	}
	if letter := post.until(t, 1)[0]; !strings.Contains(letter.text, "Test from shop") || strings.Contains(letter.text, ", run") {
		t.Errorf("the letter is %s", letter.text)
	}
}
