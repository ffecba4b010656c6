package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/wholefile"
	"github.com/hocket-dev/hocket/trust"
)

// A door is a socket in a private directory through which another process of the same user gets a
// link to the page, so that no secret is in the arguments of a process.

// linkRequest is what a process asks for.
type linkRequest struct {
	Root string `json:"root"` // of the project; "": any
	Run  string `json:"run"`  // of the project, whose page to open; "": the first page
}

// answered is what the server says.
type answered struct {
	Link string `json:"link,omitempty"` // the complete address
	None bool   `json:"none,omitempty"` // it does not serve the project
	Why  string `json:"why,omitempty"`
}

const doorWait = 5 * time.Second

// OpenDoor hands out links in a directory until ctx is done. Call it before Serve.
func (s *Server) OpenDoor(ctx context.Context, dir string) error {
	s.doors = dir
	sweep(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	file := filepath.Join(dir, strings.TrimPrefix(s.place.cookie, "hocket-")+".sock")
	_ = os.Remove(file) // of a server that was killed; the port is ours now
	l, err := net.Listen("unix", file)
	if err != nil {
		return fmt.Errorf("the socket for `hocket open`: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.attend(c)
		}
	}()
	return nil
}

// RedirectFile writes a private file that leads a browser to a link, whose secret must not be in the
// arguments of a process. The server removes the file when the link was used or is too old.
func RedirectFile(dir, link string) (string, error) {
	u, err := url.Parse(link)
	if err != nil {
		return "", err
	}
	file := redirectFile(dir, u.Query().Get("key"))
	page := "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url=" + html.EscapeString(link) + "\"><title>Hocket</title>\n"
	return file, wholefile.Write(file, []byte(page), 0o600)
}

const redirectPrefix = "open-"

func redirectFile(dir, secret string) string {
	return filepath.Join(dir, redirectPrefix+hash(secret)[:16]+".html")
}

// sweep removes the files of links of servers that were killed.
func sweep(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, redirectPrefix+"*.html"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > linkLife {
			_ = os.Remove(file)
		}
	}
}

// attend answers one process. A process that an agent started gets nothing.
func (s *Server) attend(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(doorWait))
	by, unknown := supervisorOf(c)
	var w linkRequest
	if err := json.NewDecoder(io.LimitReader(c, 8<<10)).Decode(&w); err != nil {
		return
	}
	if by == "" && unknown == nil { // the process may have ended, and another one speaks for it
		by, unknown = supervisorOf(c)
	}
	at := slices.IndexFunc(s.projects, func(p served) bool { return p.Root() == w.Root })
	var out answered
	switch {
	case unknown != nil:
		out.Why = unknown.Error()
	case by != "":
		s.log.Warn("refused a link to a process of an agent", "by", by)
		out.Why = (&trust.SupervisedError{Verb: "open", By: by}).Error()
	case w.Root != "" && at < 0:
		out.None = true
	default:
		path := ""
		if w.Run != "" && at >= 0 {
			path = pathOf(s.projects[at].name, w.Run)
		}
		link, err := s.Link(path)
		if err != nil {
			out.Why = err.Error()
		} else {
			out.Link = link
		}
	}
	_ = json.NewEncoder(c).Encode(out) // the process may have ended
}

// supervisorOf returns the agent that started the process at the other end, "" if a person did.
func supervisorOf(c net.Conn) (string, error) {
	pid, err := peer(c)
	if err != nil {
		return "", err
	}
	return trust.SupervisorOf(pid), nil
}

// ErrNoServer means that no server serves a project.
var ErrNoServer = errors.New("no server is running for this project")

// RequestLink asks the servers with doors in a directory for a link to the page of a run of a project; "": to the
// first page.
func RequestLink(ctx context.Context, dir, root, run string) (string, error) {
	doors, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, d := range doors {
		if filepath.Ext(d.Name()) != ".sock" {
			continue
		}
		dialer := net.Dialer{Timeout: doorWait}
		c, err := dialer.DialContext(ctx, "unix", filepath.Join(dir, d.Name()))
		if err != nil {
			continue // that server has ended
		}
		_ = c.SetDeadline(time.Now().Add(doorWait))
		var out answered
		err = json.NewEncoder(c).Encode(linkRequest{root, run})
		if err == nil {
			err = json.NewDecoder(c).Decode(&out)
		}
		_ = c.Close()
		switch {
		case err != nil:
			return "", err
		case out.Why != "":
			return "", errors.New(out.Why)
		case !out.None:
			return out.Link, nil
		}
	}
	return "", ErrNoServer
}
