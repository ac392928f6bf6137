package docker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/lattice-director/director/provider"
)

// ReadLog implements provider.LogReader. The engine keeps the log as long as the container; some of its logging drivers
// cannot be read.
func (p *Provider) ReadLog(ctx context.Context, ref provider.Ref, lines int) ([]byte, error) {
	c, ok, err := p.inspectContainer(ctx, "log", provider.Tag(ref))
	if err != nil {
		return nil, err
	}
	if !ok || c.State.Status == stateCreated {
		return nil, provider.Fail(provider.Gone, "log", fmt.Errorf("the engine has no container of %.40q", ref))
	}
	a, err := p.callEngine(ctx, call{
		op: "log", method: http.MethodGet, path: "/containers/" + nameOf(provider.Tag(ref)) + "/logs",
		query:    url.Values{"stdout": {"1"}, "stderr": {"1"}, "tail": {strconv.Itoa(lines)}},
		readBody: readFrames,
	})
	switch {
	case err != nil:
		return nil, err
	case a.Status == http.StatusNotFound:
		return nil, answerError(provider.Gone, "log", a, nil)
	// An error of the engine itself, except 501: its logging driver cannot be read.
	case a.Status >= 500 && a.Status != http.StatusNotImplemented:
		return nil, answerError(provider.Transient, "log", a, nil)
	case a.Status != http.StatusOK:
		return nil, answerError(provider.Permanent, "log", a, nil)
	}
	return a.Body, nil
}

// frameHeader is the size of the header of each part of a log: its stream and three zeros, then the length of the part.
const frameHeader = 8

// maxLog bounds what ReadLog returns, in bytes.
const maxLog = 4 << 20

// readFrames returns the end of what the two streams of a container have printed, in their order. A part that is cut is
// the last one.
func readFrames(body io.Reader) ([]byte, error) {
	var last tail
	header := make([]byte, frameHeader)
	for {
		_, err := io.ReadFull(body, header)
		if err == nil {
			_, err = io.CopyN(&last, body, int64(binary.BigEndian.Uint32(header[4:])))
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return last.text[max(0, len(last.text)-maxLog):], nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// tail keeps at least the last maxLog bytes that are written to it, and at most twice as many.
type tail struct{ text []byte }

// Write implements io.Writer.
func (t *tail) Write(part []byte) (int, error) {
	t.text = append(t.text, part...)
	if len(t.text) > 2*maxLog {
		t.text = slices.Delete(t.text, 0, len(t.text)-maxLog)
	}
	return len(part), nil
}
