package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
)

// TestFromInside is the program in TestInsideRun.
func TestFromInside(t *testing.T) {
	base, path := os.Getenv("INSIDE_URL"), os.Getenv("INSIDE_PATH")
	if base == "" {
		t.Skip("this is a program that another test starts")
	}
	address := strings.TrimPrefix(base, "http://")
	request := "POST " + path + " HTTP/1.1\r\nHost: " + address + "\r\nContent-Type: application/json\r\nAuthorization: Bearer " + os.Getenv("INSIDE_TOKEN") +
		"\r\nContent-Length: 21\r\n\r\n" + `{"workflow": "hello"}`
	if c, err := net.Dial("tcp", address); err != nil { // who has gone is not known any more
		t.Fatal(err)
	} else if _, err := c.Write([]byte(request)); err != nil || c.Close() != nil {
		t.Fatal(err)
	}
	for _, own := range elsewhere() { // another address of this machine
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: own}}).Dial("tcp", address)
		if err != nil {
			continue
		}
		if _, err := c.Write([]byte(request)); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(c).ReadString('\n')
		if fmt.Println("other address", line); !strings.Contains(line, " 403 ") {
			t.Errorf("from %s: %s", own, line)
		}
		c.Close()
	}
	for _, try := range []struct{ name, method, url, header, value string }{
		{"read", "GET", base + path, "Authorization", "Bearer " + os.Getenv("INSIDE_TOKEN")},
		{"token", "POST", base + path, "Authorization", "Bearer " + os.Getenv("INSIDE_TOKEN")},
		{"cookie", "POST", base + path, "Cookie", os.Getenv("INSIDE_COOKIE")},
		{"link", "GET", base + os.Getenv("INSIDE_LINK"), "Accept", "text/html"},
	} {
		req, err := http.NewRequest(try.method, try.url, strings.NewReader(`{"workflow": "hello"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = os.Getenv("INSIDE_HOST")
		req.Header.Set(try.header, try.value)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", base)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		fmt.Printf("%s %d %.100s\n", try.name, res.StatusCode, text)
	}
}

// elsewhere returns addresses of this machine that are not loopback.
func elsewhere() (all []net.IP) {
	own, _ := net.InterfaceAddrs()
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			all = append(all, n.IP)
		}
	}
	return all
}

// A step of a run reads through the server, and cannot start a run or become a person, whatever it has got hold of:
// a token, the cookie of a browser or a link.
func TestInsideRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("INSIDE_ALONE") == "" { // what is marked stays marked, so this is done in a process of its own
		cmd := exec.Command(self, "-test.run", "^TestInsideRun$")
		cmd.Env = append(os.Environ(), "INSIDE_ALONE=yes")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	hocket.MarkPrograms() // as the command does
	f := newFixture(t, nil)
	text := fmt.Sprintf("name: inside\nsteps:\n  - id: a\n    agent: shell\n    config:\n      command: INSIDE_URL=%s INSIDE_HOST=%s INSIDE_PATH=%s INSIDE_TOKEN=%s INSIDE_COOKIE='%s' INSIDE_LINK='%s' setsid %s -test.run '^TestFromInside$'\n",
		f.base, f.s.place.page[0], f.path("/runs"), f.admin, f.session(), f.link(""), self)
	if err := os.WriteFile(filepath.Join(f.dir, ".hocket/workflows/inside.yml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	run := f.begin("inside")
	out := fmt.Sprint(f.until(run, "success").Output)
	for _, want := range []string{"read 200 ", "token 403 ", "cookie 403 ", "link 403 "} {
		if !strings.Contains(out, want) || strings.Count(out, "inside-run") != 3 {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if text := f.want(http.StatusOK, "GET", f.path("/runs"), nil); strings.Contains(text, `"workflow":"hello"`) {
		t.Errorf("a run was started from inside: %s", text)
	}
}
