package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
)

func TestJudgeWebhooks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	fine := opsview.Webhook{Name: "a", State: "active", Delivered: 7, Lag: time.Second}
	for name, c := range map[string]struct {
		webhook     opsview.Webhook
		state, says string
	}{
		"it works":               {fine, OK, "a is active: 7 delivered, 0 wait, 0 dead letters"},
		"it restarts":            {opsview.Webhook{Name: "b", State: "failing", FailingSince: ago(time.Minute), Lag: time.Minute}, OK, "b is failing"},
		"it fails":               {opsview.Webhook{Name: "b", State: "failing", FailingSince: ago(time.Hour), LastError: "it answered 502"}, Fail, "nothing could be delivered for 1h0m0s: it answered 502"},
		"its endpoint is gone":   {opsview.Webhook{Name: "b", State: "paused", Reason: "its endpoint answered 410 Gone"}, Warn, "b is paused: its endpoint answered 410 Gone"},
		"dead letters":           {opsview.Webhook{Name: "b", State: "active", DeadLetters: 2}, Warn, "2 dead letters"},
		"nobody delivers for it": {opsview.Webhook{Name: "b", State: "active", Lag: time.Hour}, Warn, "the oldest event waits for 1h0m0s"},
	} {
		found := judgeWebhooks([]opsview.Webhook{fine, c.webhook}, now)
		if c.state == OK {
			found = judgeWebhook(c.webhook, now)
		}
		require.Equal(t, c.state, found.State, name)
		require.Contains(t, found.Says, c.says, name)
		require.Equal(t, c.state == OK, found.Do == "", name)
	}
	require.Equal(t, OK, judgeWebhooks(nil, now).State)
}
