package project

import (
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Notification is whom to tell what about runs. Exactly one of Command, Webhook and Email is set.
type Notification struct {
	Waiting bool      // a run waits for a person
	Failed  bool      // a run has failed
	Done    bool      // a run has ended with a result
	Costs   []float64 // a run has cost more than one of these, in USD

	Command []string // a program and its arguments
	Env     map[string]Value
	Webhook *Webhook
	Email   *Email
}

// Webhook is an address that notifications are sent to.
type Webhook struct {
	URL            Value
	Format         string // json, slack, discord or ntfy
	Headers        map[string]Value
	PrivateNetwork bool // allow addresses of this machine and its network
}

// Email is who gets notifications by e-mail, and the SMTP server that sends them.
type Email struct {
	To             []string
	From           string
	Server         string // host and port
	User           string // "": without a login
	Password       string // the name of a secret
	TLS            string // starttls, tls or none
	PrivateNetwork bool
}

// The ways to encrypt the connection with an SMTP server.
const (
	StartTLS = "starttls" // after a greeting in plain text
	TLS      = "tls"      // from the start
	NoTLS    = "none"
)

// readNotifications reads the list of notifications. Those with mistakes are left out.
func readNotifications(list strictyaml.Node, secrets map[string]Place, at map[string]workflow.Pos) (all []Notification) {
	if !list.Exists() {
		return nil
	}
	for _, n := range list.List() {
		one, ok := readNotification(n, secrets)
		if ok {
			at[fmt.Sprintf("notify.%d", len(all))] = n.Pos()
			all = append(all, one)
		}
	}
	return all
}

func readNotification(n strictyaml.Node, secrets map[string]Place) (one Notification, ok bool) {
	if !n.IsMap() {
		n.WrongType("a map with `on` and one of command, webhook and email")
		return one, false
	}
	m := n.Map()
	ok = one.readOccasions(m)
	ways := 0
	if command := m.Get("command"); command.Exists() {
		ways++
		for _, word := range command.List() {
			one.Command = append(one.Command, word.Name())
		}
		if len(one.Command) == 0 && command.IsList() {
			command.Errorf(codeConfig, "write `command: [PROGRAM, ARGUMENT…]`", "the command of a notification is empty")
		}
		ok = ok && len(one.Command) > 0
	}
	if env := m.Get("env"); env.Exists() {
		one.Env = readValues(env.Map(), secrets)
		if !m.Peek("command").Exists() {
			env.Key().Errorf(codeConfig, "remove it", "only a command has env")
			ok = false
		}
	}
	if hook := m.Get("webhook"); hook.Exists() {
		ways++
		read, valid := readWebhook(hook, secrets)
		one.Webhook, ok = &read, ok && valid
	}
	if email := m.Get("email"); email.Exists() {
		ways++
		read, valid := readEmail(email, secrets)
		one.Email, ok = &read, ok && valid
	}
	unknown := m.Done()
	if ways != 1 && unknown == 0 {
		n.Errorf(codeConfig, "add one of them, and another entry for each further one", "invalid notification: expected exactly one of command, webhook and email")
	}
	return one, ok && ways == 1
}

// readOccasions reads when to notify.
func (one *Notification) readOccasions(m *strictyaml.Map) bool {
	on := m.Get("on")
	if !on.Exists() || on.IsList() && len(on.List()) == 0 {
		m.Node().Errorf(codeConfig, "add it, such as `on: [waiting, failed]`", "a notification without `on` is never sent")
		return false
	}
	ok := true
	for _, occasion := range on.OneOrMany() {
		if occasion.IsMap() {
			c := occasion.Map()
			usd := c.Float("cost")
			if c.Done() == 0 && usd <= 0 {
				occasion.Errorf(codeConfig, "write an amount in USD, such as `{cost: 5}`", "invalid cost: must be more than zero")
			}
			if usd > 0 {
				one.Costs = append(one.Costs, usd)
			}
			ok = ok && usd > 0
			continue
		}
		switch occasion.Word("waiting", "failed", "done") {
		case "waiting":
			one.Waiting = true
		case "failed":
			one.Failed = true
		case "done":
			one.Done = true
		default:
			ok = false
		}
	}
	return ok
}

func readWebhook(n strictyaml.Node, secrets map[string]Place) (w Webhook, ok bool) {
	m := n.Map()
	address := m.Get("url")
	if address.IsMap() {
		w.URL.Secret = readSecret(address.Map(), secrets)
		_, ok = secrets[w.URL.Secret]
	} else {
		w.URL.Text = address.Text()
		u, err := url.Parse(w.URL.Text)
		ok = err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil
		switch {
		case !address.Exists():
			n.Key().Errorf(codeConfig, "add it, such as `url: https://ntfy.sh/my-topic`; if the address is secret, write `url: {secret: NAME}`", "webhook: missing url")
		case !ok:
			address.Errorf(codeConfig, "use an address such as https://ntfy.sh/my-topic; a password belongs into a header, as a secret", "invalid url %q", w.URL.Text)
		}
	}
	if w.Format = m.Word("format", "json", "slack", "discord", "ntfy"); w.Format == "" {
		w.Format = "json"
		ok = ok && !m.Peek("format").Exists()
	}
	w.Headers = readValues(m.Map("headers"), secrets)
	w.PrivateNetwork = m.Bool("private_network")
	return w, m.Done() == 0 && ok
}

func readEmail(n strictyaml.Node, secrets map[string]Place) (e Email, ok bool) {
	ok = true
	wrong := func(at strictyaml.Node, detail, summary string, args ...any) {
		at.Errorf(codeConfig, detail, summary, args...)
		ok = false
	}
	m := n.Map()
	for _, to := range m.Get("to").OneOrMany() {
		e.To = append(e.To, to.Text())
		if !isMailAddress(to.Text()) {
			wrong(to, "use an address such as ada@example.org", "invalid e-mail address %q", to.Text())
		}
	}
	if len(e.To) == 0 {
		wrong(n.Key(), "add it, such as `to: ada@example.org`", "email: missing to")
	}
	e.From, e.User = m.Name("from"), m.Name("user")
	switch {
	case e.From == "" && isMailAddress(e.User):
		e.From = e.User
	case e.From == "":
		wrong(n.Key(), "add it, such as `from: hocket@example.org`", "email: missing from")
	case !isMailAddress(e.From):
		wrong(m.Peek("from"), "use an address such as hocket@example.org", "invalid e-mail address %q", e.From)
	}
	e.Server = m.Name("server")
	host, port, err := net.SplitHostPort(e.Server)
	if number, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || number == 0 || host == "" {
		where := m.Peek("server")
		if !where.Exists() {
			where = n.Key()
		}
		wrong(where, "use HOST:PORT, such as smtp.example.org:587", "email: invalid server %q", e.Server)
	}
	password := m.Get("password")
	switch {
	case password.IsScalar():
		wrong(password, "write `{secret: NAME}`, and define NAME under `secrets`; the value itself does not belong in a shared file", "config.yml must not contain the value of a secret")
	case password.Exists():
		e.Password = readSecret(password.Map(), secrets)
		_, known := secrets[e.Password]
		ok = ok && known
	}
	if e.User == "" && password.Exists() {
		wrong(password.Key(), "add the user", "email: password without user")
	}
	if e.User != "" && !password.Exists() {
		wrong(m.Peek("user").Key(), "add `password: {secret: NAME}`; to set only the sender, use `from`", "email: user without password")
	}
	if e.TLS = m.Word("tls", StartTLS, TLS, NoTLS); e.TLS == "" {
		e.TLS = StartTLS
		if port == "465" {
			e.TLS = TLS
		}
		ok = ok && !m.Peek("tls").Exists()
	}
	if e.TLS == NoTLS && e.User != "" {
		wrong(m.Peek("tls"), "use starttls or tls", "a password is not sent without encryption")
	}
	e.PrivateNetwork = m.Bool("private_network")
	return e, m.Done() == 0 && ok
}

// isMailAddress reports whether a text is an address and nothing else, such as a name or a second address.
func isMailAddress(text string) bool {
	a, err := mail.ParseAddress(text)
	return err == nil && a.Address == text && !strings.ContainsAny(text, " \t\r\n\"")
}

// NotificationPowers returns the powers of the notifications: who is told what about runs. No step uses
// them, so a run does not need them.
func (p *Project) NotificationPowers() (all trust.Powers) {
	c := &p.Config
	for i := range c.Notify {
		n := &c.Notify[i]
		power := trust.Power{Kind: trust.Notification, Where: p.place(p.at[fmt.Sprintf("notify.%d", i)]), Material: n.material()}
		var named []string // secrets
		switch when := n.Occasions(); {
		case n.Webhook != nil:
			to := n.Webhook.URL.Text
			if named = append(secretsIn(n.Webhook.Headers), n.Webhook.URL.Secret); n.Webhook.URL.Secret != "" {
				to = "the address in the secret " + n.Webhook.URL.Secret
			}
			power.What = fmt.Sprintf("sends what runs ask and why they fail to %s%s%s, when a run %s", to, given(n.Webhook.Headers), near(n.Webhook.PrivateNetwork), when)
		case n.Email != nil:
			login := ""
			if n.Email.User != "" {
				named = []string{n.Email.Password}
				login = fmt.Sprintf(", as %s with the password in the secret %s", n.Email.User, n.Email.Password)
			}
			power.What = fmt.Sprintf("sends what runs ask and why they fail to %s by e-mail through %s%s%s, when a run %s",
				strings.Join(n.Email.To, ", "), n.Email.Server, login, near(n.Email.PrivateNetwork), when)
		default:
			var words []string
			for _, v := range n.Env {
				words = append(words, v.Text)
			}
			named = secretsIn(n.Env)
			power.What = fmt.Sprintf("starts %s%s, when a run %s", strings.Join(n.Command, " "), given(n.Env), when)
			for _, word := range n.Command[1:] {
				words = append(words, texts(word)...) // without the files that a script writes to: that would undo the approval
			}
			power.Material += trust.Material(p.Root, Program(p.Root, n.Command[0]), p.Root, words...)
		}
		all = append(append(all, power), p.SecretPowers(named...)...)
	}
	return all.Union(nil)
}

// material is what the digest covers of a notification.
func (n *Notification) material() string {
	all := map[string]any{"on": n.Occasions(), "command": n.Command, "env": values(n.Env)}
	if w := n.Webhook; w != nil {
		all["webhook"] = []any{w.URL.Text, w.URL.Secret, w.Format, values(w.Headers), w.PrivateNetwork}
	}
	if e := n.Email; e != nil {
		all["email"] = []any{e.To, e.From, e.Server, e.User, e.Password, e.TLS, e.PrivateNetwork}
	}
	return workflow.FormatJSON(all)
}

// ID identifies the notification by its content.
func (n *Notification) ID() string { return trust.Powers{{Material: n.material()}}.Digest() }

// Occasions says when the notification is sent, as the end of a sentence.
func (n *Notification) Occasions() string {
	var all []string
	for _, one := range []struct {
		when bool
		word string
	}{{n.Waiting, "waits"}, {n.Failed, "fails"}, {n.Done, "is done"}} {
		if one.when {
			all = append(all, one.word)
		}
	}
	for _, usd := range slices.Sorted(slices.Values(n.Costs)) {
		all = append(all, "costs more than $"+strconv.FormatFloat(usd, 'f', -1, 64))
	}
	return strings.Join(all, " or ")
}

// near says that an address may be in a private network.
func near(private bool) string {
	if private {
		return ", also in your private network"
	}
	return ""
}

// secretsIn returns the names of the secrets in values.
func secretsIn(of map[string]Value) (names []string) {
	for _, v := range of {
		names = append(names, v.Secret)
	}
	return names
}

// SecretPowers returns the powers to read the secrets with these names.
func (p *Project) SecretPowers(names ...string) (all trust.Powers) {
	for _, name := range names {
		if place, ok := p.Config.Secrets[name]; ok && !p.Holds(place.File) {
			all = append(all, trust.Power{Kind: trust.Secret, What: fmt.Sprintf("reads the secret %s from %s", name, place.words()), Where: p.place(p.at["secrets."+name])})
		}
	}
	return all
}
