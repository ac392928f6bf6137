package outage_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/outage"
)

func TestAnOutageIsTwoLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := outage.New(slog.New(slog.NewTextHandler(&out, nil)))
	for _, err := range []error{nil, errors.New("away"), errors.New("away"), nil, nil} {
		l.Report(t.Context(), "renew", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	l.Report(ended, "renew", ended.Err())
	require.Equal(t, 2, strings.Count(out.String(), "\n"), out.String())
	require.Contains(t, out.String(), "error=away")
	require.Contains(t, out.String(), "works again")
}
