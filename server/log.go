package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket"
)

// InLog names a part of a stream of an attempt.
type InLog struct {
	InStep
	Attempt int    `path:"attempt" minimum:"1"`
	Stream  string `path:"stream" enum:"output,prompt,transcript"`
	Offset  int64  `query:"offset" doc:"The first byte; negative: counted from the end"`
	Limit   int64  `query:"limit" minimum:"1" maximum:"1048576" default:"65536" doc:"At most so many bytes"`
	Follow  bool   `query:"follow" doc:"Send server-sent events until the attempt has ended: piece, with an offset and bytes in base64, and end"`
	Last    int64  `header:"Last-Event-ID" minimum:"0" doc:"Continue a stream after this offset"`
}

// readLog reads a part of a stream of an attempt, or follows it.
func (a *api) readLog(ctx context.Context, in *InLog) (*streamed, error) {
	_, r, err := a.run(ctx, &in.InRun)
	if err != nil {
		return nil, err
	}
	kept, err := r.Kept(ctx, in.Address, in.Attempt)
	if err != nil {
		return nil, err
	}
	stream := hocket.Stream(in.Stream)
	size := kept.Sizes[stream]
	if in.Offset < 0 {
		in.Offset = max(0, size+in.Offset)
	}
	if in.Follow {
		in.Offset = max(in.Offset, in.Last)
		return a.followLog(ctx, r, in, stream)
	}
	var pieces []hocket.Piece
	left := in.Limit
	for p, err := range r.Read(ctx, in.Address, in.Attempt, stream, in.Offset, false) {
		var damaged *hocket.DamagedLogError
		if errors.As(err, &damaged) {
			break // what could be read was
		}
		if err != nil {
			return nil, err
		}
		if int64(len(p.Text)) > left {
			p.Text = p.Text[:left]
		}
		p.Text = slices.Clone(p.Text)
		pieces = append(pieces, p)
		if left -= int64(len(p.Text)); left <= 0 {
			break
		}
	}
	return &streamed{Body: func(w http.ResponseWriter, _ *http.Request) {
		var parts []string
		for _, p := range pieces {
			parts = append(parts, fmt.Sprintf("%d+%d", p.At, len(p.Text)))
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Hocket-Pieces", strings.Join(parts, ","))
		w.Header().Set("Hocket-Size", strconv.FormatInt(size, 10))
		for _, p := range pieces {
			if _, err := w.Write(p.Text); err != nil {
				return // the client has gone
			}
		}
	}}, nil
}

// followLog sends what an attempt writes while it writes it.
func (a *api) followLog(ctx context.Context, r *hocket.Run, in *InLog, stream hocket.Stream) (*streamed, error) {
	return a.stream(ctx, func(ctx context.Context, out *messages) error {
		read := func(ctx context.Context, emit func(message) bool) error {
			for p, err := range r.Read(ctx, in.Address, in.Attempt, stream, in.Offset, true) {
				if err != nil {
					return err
				}
				data, err := json.Marshal(struct {
					At   int64  `json:"at"`
					Data []byte `json:"data"` // base64: it may be cut inside a character
				}{p.At, p.Text})
				if err != nil {
					return err
				}
				if !emit(message{"piece", strconv.FormatInt(p.At+int64(len(p.Text)), 10), data}) {
					break
				}
			}
			return ctx.Err()
		}
		err := out.send(ctx, nil, read)
		if err == nil {
			out.put("end", "", []byte("{}"))
		}
		return err
	})
}
