package main

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins durations with an unclear unit: JSON had nanoseconds, and text a unit that depended on the value.
func TestDurationsAreLoggedInMilliseconds(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"json": `"took_ms":1500.25,"group":{"pause_ms":2}`, "text": "took_ms=1500.25 group.pause_ms=2"} {
		var out bytes.Buffer
		p := &program{stderr: &out}
		log := p.newLog(&loaded{config: Config{LogLevel: "info", LogFormat: format}})
		log.Info("x", slog.Duration("took", 1500250*time.Microsecond), slog.Group("group", slog.Duration("pause", 2*time.Millisecond)))
		require.Contains(t, out.String(), want)
	}
}
