package hocket

import (
	"cmp"
	"errors"
	"os"
	"slices"

	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/project"
)

// Notification is whom to tell what about runs, with the values of its secrets.
type Notification struct {
	project.Notification
	Environ  []string          // of Command
	URL      string            // of Webhook
	Headers  map[string]string // of Webhook
	Password string            // of Email
	Err      error             // a secret is missing
}

// Notifications returns whom to tell about runs. The error is an *[UntrustedError], and nobody may be
// told, if the user has not approved all of them.
func (p *Project) Notifications() ([]Notification, error) {
	p = p.steady()
	powers := p.now().files.NotificationPowers()
	decision, err := p.Trusted(powers, p.o.TrustDigest)
	if err != nil || len(powers) == 0 {
		return nil, err
	}
	if !decision.Trusted {
		untrusted := decision.Error(p.Root(), powers)
		untrusted.Approve = p.now().files.Approve(powers, "")
		return nil, untrusted
	}
	var all []Notification
	for _, n := range p.Config().Notify {
		all = append(all, p.fill(n))
	}
	return all, nil
}

func (p *Project) fill(n project.Notification) Notification {
	one := Notification{Notification: n}
	secrets := p.now().secrets
	switch {
	case n.Webhook != nil:
		values, err := texts(map[string]project.Value{"url": n.Webhook.URL}, secrets)
		headers, wrong := texts(n.Webhook.Headers, secrets)
		one.URL, one.Headers, one.Err = values["url"], headers, errors.Join(err, wrong)
	case n.Email != nil && n.Email.User != "":
		one.Password, one.Err = secrets.Get(n.Email.Password)
	case n.Email != nil:
	default:
		one.Command = slices.Clone(n.Command)
		one.Command[0] = cmp.Or(project.Program(p.Root(), n.Command[0]), n.Command[0])
		env, err := texts(n.Env, secrets)
		// It may need any variable, such as those of the desktop, but no key that was meant for agents.
		one.Environ, one.Err = secret.Unsecret(os.Environ(), secretVariables(p.Config())...), err
		for name, value := range env {
			one.Environ = append(one.Environ, name+"="+value)
		}
	}
	return one
}

// NotificationRule is a notification as config.yml has it.
type NotificationRule = project.Notification
