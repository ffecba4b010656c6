package project_test

import (
	"slices"
	"strings"
	"testing"
)

const notified = `secrets:
  SLACK: {env: SLACK_URL}
  MAIL: {file: ../mail}
notify:
  - on: [waiting, failed]
    webhook: {url: {secret: SLACK}, format: slack}
  - {on: done, command: [./say.sh, Hocket], env: {LOUD: "yes"}}
  - on: [{cost: 5}, {cost: 0.5}]
    email: {to: [ada@example.org], server: "smtp.example.org:465", user: me@example.org, password: {secret: MAIL}}
  - {on: failed, webhook: {url: "http://ntfy.lan/runs", format: ntfy, private_network: true, headers: {X-Team: blue}}}
`

func TestNotifications(t *testing.T) {
	p := empowered(t, write(t, map[string]string{".hocket/config.yml": notified, "say.sh": "echo"}), "")
	if found := p.Diagnostics(); len(found) > 0 {
		t.Fatal(found)
	}
	all := p.Config.Notify
	if len(all) != 4 || !all[0].Waiting || !all[0].Failed || all[0].Done || all[0].Webhook.URL.Secret != "SLACK" || all[0].Webhook.Format != "slack" {
		t.Fatalf("%+v", all)
	}
	if e := all[2].Email; e.From != "me@example.org" || e.TLS != "tls" || e.Password != "MAIL" || !slices.Equal(all[2].Costs, []float64{5, 0.5}) {
		t.Errorf("%+v %v", e, all[2].Costs)
	}
	var got []string
	for _, power := range p.NotificationPowers() {
		got = append(got, string(power.Kind)+": "+power.What+" "+power.Where)
	}
	want := []string{
		"notification: sends what runs ask and why they fail to ada@example.org by e-mail through smtp.example.org:465, as me@example.org with the password in the secret MAIL, when a run costs more than $0.5 or costs more than $5 .hocket/config.yml:8",
		"notification: sends what runs ask and why they fail to http://ntfy.lan/runs, with X-Team=blue, also in your private network, when a run fails .hocket/config.yml:10",
		"notification: sends what runs ask and why they fail to the address in the secret SLACK, when a run waits or fails .hocket/config.yml:5",
		"notification: starts ./say.sh Hocket, with LOUD=yes, when a run is done .hocket/config.yml:7",
		"secret: reads the secret MAIL from the file ../mail .hocket/config.yml:3",
		"secret: reads the secret SLACK from the variable SLACK_URL .hocket/config.yml:2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	all2, err := p.AllPowers()
	if err != nil || p.NotificationPowers().Exceeds(all2) {
		t.Errorf("the user is not asked about them: %v, %v", all2, err)
	}
	if !p.NotificationPowers().Exceeds(p.Powers()) {
		t.Error("a run needs trust for them, although no step uses them")
	}
}

// The digest covers everything that changes who learns what, and the program in the project.
func TestNotificationDigest(t *testing.T) {
	digest := func(config, script string) string {
		return empowered(t, write(t, map[string]string{".hocket/config.yml": config, "say.sh": script}), "").NotificationPowers().Digest()
	}
	before := digest(notified, "echo")
	if digest("# a comment\n"+notified, "echo") != before {
		t.Error("a comment changes it")
	}
	for _, change := range [][2]string{
		{"[waiting, failed]", "[waiting]"}, {"format: slack", "format: json"}, {"LOUD: \"yes\"", "LOUD: \"no\""}, {"ada@", "eve@"},
		{"smtp.example.org", "smtp.example.com"}, {", private_network: true", ""}, {"blue", "red"}, {"{cost: 5}", "{cost: 6}"},
		{"password: {secret: MAIL}", "password: {secret: SLACK}"},
	} {
		if digest(strings.Replace(notified, change[0], change[1], 1), "echo") == before {
			t.Errorf("%s does not change it", change[1])
		}
	}
	if digest(notified, "rm") == before {
		t.Error("another program does not change it")
	}
}

func TestInvalidNotifications(t *testing.T) {
	for text, want := range map[string]string{
		"{on: waiting}": "expected exactly one of command, webhook and email",
		"{on: waiting, command: [a], webhook: {url: \"https://a.example\"}}": "expected exactly one of command, webhook and email",
		"{command: [a]}":                  "a notification without `on` is never sent",
		"{on: [], command: [a]}":          "a notification without `on` is never sent",
		"{on: wating, command: [a]}":      "wating",
		"{on: [{cost: 0}], command: [a]}": "invalid cost",
		"{on: done, command: []}":         "the command of a notification is empty",
		"{on: done, command: a b}":        "command",
		"{on: done, env: {A: b}, webhook: {url: \"https://a.example\"}}":                                              "only a command has env",
		"{on: done, webhook: {format: slack}}":                                                                        "webhook: missing url",
		"{on: done, webhook: {url: \"ftp://a.example\"}}":                                                             "invalid url",
		"{on: done, webhook: {url: \"https://me:pw@a.example\"}}":                                                     "invalid url",
		"{on: done, webhook: {url: {secret: NONE}}}":                                                                  "unknown secret",
		"{on: done, webhook: {url: \"https://a.example\", format: teams}}":                                            "teams",
		"{on: done, webhook: {url: \"https://a.example\", headers: {A: {secret: NONE}}}}":                             "unknown secret",
		"{on: done, webhok: {url: \"https://a.example\"}}":                                                            "webhok",
		"{on: done, email: {server: \"a:25\", from: a@b.example}}":                                                    "email: missing to",
		"{on: done, email: {to: \"A <a@b.example>\", server: \"a:25\", from: a@b.example}}":                           "invalid e-mail address",
		"{on: done, email: {to: \"a@b.example\\r\\nBcc: c@d.example\", server: \"a:25\", from: a@b.example}}":         "invalid e-mail address",
		"{on: done, email: {to: a@b.example, server: \"a:25\"}}":                                                      "email: missing from",
		"{on: done, email: {to: a@b.example, from: a@b.example, server: a}}":                                          "email: invalid server",
		"{on: done, email: {to: a@b.example, from: a@b.example}}":                                                     "email: invalid server",
		"{on: done, email: {to: a@b.example, server: \"a:25\", user: a@b.example, password: secret}}":                 "config.yml must not contain the value of a secret",
		"{on: done, email: {to: a@b.example, server: \"a:25\", user: a@b.example}}":                                   "email: user without password",
		"{on: done, email: {to: a@b.example, server: \"a:25\", from: a@b.example, password: {secret: S}}}":            "email: password without user",
		"{on: done, email: {to: a@b.example, server: \"a:25\", user: a@b.example, password: {secret: S}, tls: none}}": "a password is not sent without encryption",
		"just a text": "must be a map with `on`",
	} {
		p := empowered(t, write(t, map[string]string{".hocket/config.yml": "secrets: {S: {env: S}}\nnotify:\n  - " + text + "\n"}), "")
		found := p.Diagnostics()
		if len(found) == 0 || !strings.Contains(found[0].Summary+found[0].Detail, want) || found[0].Pos.Line != 3 {
			t.Errorf("%s: %v; want %q", text, found, want)
		}
		// A wrong entry does nothing. A missing secret is found when it is needed.
		if len(p.Config.Notify) > 0 && !strings.Contains(text, "headers:") {
			t.Errorf("%s is used: %+v", text, p.Config.Notify)
		}
	}
}

// A command that writes to a file in the project keeps its approval; one that runs that file does not.
func TestNotificationWrites(t *testing.T) {
	for command, covered := range map[string]bool{"echo told >> say.sh": false, "echo told > say.sh": false, "sh say.sh": true, "echo told > say.sh; sh say.sh": true} {
		digest := func(script string) string {
			config := "notify: [{on: done, command: [sh, -c, '" + command + "']}]\n"
			return empowered(t, write(t, map[string]string{".hocket/config.yml": config, "say.sh": script}), "").NotificationPowers().Digest()
		}
		if (digest("a") != digest("b")) != covered {
			t.Errorf("%s: the digest covers the file: %t, want %t", command, !covered, covered)
		}
	}
}
