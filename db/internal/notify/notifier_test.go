package notify

import (
	"context"
	"crypto/rand"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A call a microsecond must not make a transaction a microsecond, and the last one must not be left out.
func TestNoticesLeaveTogether(t *testing.T) {
	t.Parallel()
	sent, letGo := make(chan notice), make(chan struct{})
	n := newNotifier(func(_ context.Context, what notice, _ []string) { sent <- what; <-letGo },
		slog.New(slog.DiscardHandler))
	for range 1000 {
		n.markNotice(notice{"tickets", "eu"}, nil)
	}
	require.Equal(t, notice{"tickets", "eu"}, <-sent, "the first waits for nobody")
	n.markNotice(notice{"tickets", "us"}, nil)
	require.Equal(t, notice{"tickets", "us"}, <-sent, "nor does another region's")
	for range 1000 {
		n.markNotice(notice{"tickets", "eu"}, nil) // while it is on its way, perhaps too late for it
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
	n := newNotifier(func(_ context.Context, what notice, _ []string) { sent <- what }, slog.New(slog.DiscardHandler))
	n.markNotice(notice{"tickets", "eu"}, nil)
	n.close()
	require.Len(t, sent, 1)
	n.markNotice(notice{"tickets", "eu"}, nil)
	n.close()
	require.Len(t, sent, 1, "after the end there is nobody to send it")
}

func TestNoticesHaveATimeout(t *testing.T) {
	t.Parallel()
	n := newNotifier(func(ctx context.Context, _ notice, _ []string) {
		end, ok := ctx.Deadline()
		if !ok || time.Until(end) > sendTimeout {
			t.Error("a database that does not answer would keep the store from closing")
		}
	}, slog.New(slog.DiscardHandler))
	n.markNotice(notice{"cycle", "eu"}, nil)
	n.close()
}

// A panic in a goroutine of its own would end the process.
func TestNoticesSurviveAPanic(t *testing.T) {
	t.Parallel()
	sent := make(chan notice, 1)
	panics := true
	n := newNotifier(func(_ context.Context, what notice, _ []string) {
		if panics {
			panics = false
			panic("a bug")
		}
		sent <- what
	}, slog.New(slog.DiscardHandler))
	n.markNotice(notice{"cycle", "eu"}, nil)
	n.markNotice(notice{"cycle", "eu"}, nil)
	require.Equal(t, notice{"cycle", "eu"}, <-sent)
	n.close()
}

// Notices about different keys leave as one, and one about too many keys is about all.
func TestNoticesCollectKeys(t *testing.T) {
	t.Parallel()
	sent, letGo := make(chan []string), make(chan struct{})
	n := newNotifier(func(_ context.Context, _ notice, keys []string) {
		slices.Sort(keys)
		sent <- keys
		<-letGo
	}, slog.New(slog.DiscardHandler))
	eu := notice{"sessions", "eu"}
	n.markNotice(eu, []string{"a"})
	require.Equal(t, []string{"a"}, <-sent)
	n.markNotice(eu, []string{"b"})
	n.markNotice(eu, []string{"a", "b", "c"})
	letGo <- struct{}{}
	require.Equal(t, []string{"a", "b", "c"}, <-sent)
	for i := range maxKeys + 1 {
		n.markNotice(eu, []string{shorten(strconv.Itoa(i))})
	}
	letGo <- struct{}{}
	require.Empty(t, <-sent, "about all")
	close(letGo)
	n.close()
}

// The longest payload must be one that Postgres takes, and must read as it was written.
func TestPayloads(t *testing.T) {
	t.Parallel()
	keys := make([]string, maxKeys)
	for i := range keys {
		keys[i] = strconv.FormatUint(math.MaxUint32, 36)
	}
	what := notice{"sessions", strings.Repeat("r", 32)}
	payload := what.payload(rand.Text(), keys)
	require.Less(t, len(payload), 8000)
	got, _, read := parseNotice(payload)
	require.Equal(t, what, got)
	require.Equal(t, keys, read)
	_, sender, none := parseNotice(what.payload("me", nil))
	require.Equal(t, "me", sender)
	require.Empty(t, none)
}
