package notify

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A call a microsecond must not make a transaction a microsecond, and the last one must not be left out.
func TestNoticesLeaveTogether(t *testing.T) {
	t.Parallel()
	sent, letGo := make(chan notice), make(chan struct{})
	n := newNotifier(func(_ context.Context, what notice) { sent <- what; <-letGo }, slog.New(slog.DiscardHandler))
	for range 1000 {
		n.mark(notice{"tickets", "eu"})
	}
	require.Equal(t, notice{"tickets", "eu"}, <-sent, "the first waits for nobody")
	n.mark(notice{"tickets", "us"})
	require.Equal(t, notice{"tickets", "us"}, <-sent, "nor does another region's")
	for range 1000 {
		n.mark(notice{"tickets", "eu"}) // while it is on its way, perhaps too late for it
	}
	close(letGo)
	require.Equal(t, notice{"tickets", "eu"}, <-sent, "what was marked meanwhile leaves once more")
	n.close()
	select {
	case what := <-sent:
		t.Fatalf("%v left for nothing", what)
	default:
	}
}

func TestNoticesLeaveBeforeTheEnd(t *testing.T) {
	t.Parallel()
	sent := make(chan notice, 3)
	n := newNotifier(func(_ context.Context, what notice) { sent <- what }, slog.New(slog.DiscardHandler))
	n.mark(notice{"tickets", "eu"})
	n.close()
	require.Len(t, sent, 1)
	n.mark(notice{"tickets", "eu"})
	n.close()
	require.Len(t, sent, 1, "after the end there is nobody to send it")
}

func TestNoticesHaveATimeout(t *testing.T) {
	t.Parallel()
	n := newNotifier(func(ctx context.Context, _ notice) {
		end, ok := ctx.Deadline()
		if !ok || time.Until(end) > sendTimeout {
			t.Error("a database that does not answer would keep the store from closing")
		}
	}, slog.New(slog.DiscardHandler))
	n.mark(notice{"cycle", "eu"})
	n.close()
}

// A panic in a goroutine of its own would end the process.
func TestNoticesSurviveAPanic(t *testing.T) {
	t.Parallel()
	sent := make(chan notice, 1)
	panics := true
	n := newNotifier(func(_ context.Context, what notice) {
		if panics {
			panics = false
			panic("a bug")
		}
		sent <- what
	}, slog.New(slog.DiscardHandler))
	n.mark(notice{"cycle", "eu"})
	n.mark(notice{"cycle", "eu"})
	require.Equal(t, notice{"cycle", "eu"}, <-sent)
	n.close()
}
