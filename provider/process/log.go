package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/lattice-director/director/provider"
)

// maxRead bounds what ReadLog returns, in bytes.
const maxRead = 4 << 20

// ReadLog implements provider.LogReader. A server that has ended keeps its log for an hour.
func (p *Provider) ReadLog(ctx context.Context, ref provider.Ref, lines int) ([]byte, error) {
	d, ok, err := p.readDeployment(provider.Tag(ref))
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return nil, provider.Fail(provider.Transient, "log", err)
	}
	if !ok {
		return nil, provider.Fail(provider.Gone, "log", fmt.Errorf("no log of %.40q is on this machine", ref))
	}
	log, err := readEnd(d.pathOf("log"), maxRead)
	if err != nil {
		return nil, provider.Fail(provider.Transient, "log", err)
	}
	older, err := readEnd(d.pathOf("log.1"), maxRead-int64(len(log)))
	if err != nil {
		return nil, provider.Fail(provider.Transient, "log", err)
	}
	return provider.LastLines(append(older, log...), lines), nil
}

// readEnd returns the last maxBytes of a file; nothing if the file does not exist.
func readEnd(path string, maxBytes int64) ([]byte, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-maxBytes), maxBytes))
}
