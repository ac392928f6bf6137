package docker

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
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
		query: url.Values{"stdout": {"1"}, "stderr": {"1"}, "tail": {strconv.Itoa(lines)}},
	})
	switch {
	case err != nil:
		return nil, err
	case a.Status == http.StatusNotFound:
		return nil, answerError(provider.Gone, "log", a, nil)
	case a.Status != http.StatusOK:
		return nil, answerError(provider.Permanent, "log", a, nil)
	}
	return joinFrames(a.Body), nil
}

// frameHeader is the size of the header of each part of a log: its stream and three zeros, then the length of the part.
const frameHeader = 8

// joinFrames returns what the two streams of a container have printed, in their order.
func joinFrames(body []byte) (text []byte) {
	for len(body) >= frameHeader {
		length := min(uint64(binary.BigEndian.Uint32(body[4:])), uint64(len(body)-frameHeader))
		text = append(text, body[frameHeader:frameHeader+length]...)
		body = body[frameHeader+length:]
	}
	return text
}
