package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

const (
	// maxFailing is how long a webhook may fail before it is a finding: longer than its endpoint takes to restart.
	maxFailing = 5 * time.Minute
	// maxLag is how long an event may wait for a webhook that does not fail.
	maxLag = 15 * time.Minute
)

func (d Doctor) checkWebhooks(ctx context.Context) (Finding, error) {
	all, err := opsview.Webhooks.Read(ctx, d.Store.Pool(), opsview.WebhookFilter{}, opsview.Page{})
	if err != nil {
		return Finding{}, err
	}
	now, err := d.Store.DatabaseNow(ctx)
	return judgeWebhooks(all, now), err
}

// judgeWebhooks returns the Finding of the first webhook in the worst state.
func judgeWebhooks(all []opsview.Webhook, now time.Time) Finding {
	return worstOf(all, goodFinding("there are none"), func(w opsview.Webhook) Finding { return judgeWebhook(w, now) })
}

func judgeWebhook(w opsview.Webhook, now time.Time) Finding {
	says := fmt.Sprintf("%s is %s%s: %d delivered, %d wait, %d dead letters", w.Name, w.State, reasonPhrase(w.Reason),
		w.Delivered,
		w.Waiting, w.DeadLetters)
	switch {
	case w.State == "failing" && w.FailingSince != nil && now.Sub(*w.FailingSince) > maxFailing:
		return failureFinding(fmt.Sprintf("mend its endpoint; director webhooks test %s tries it at once", w.Name),
			"%s; nothing could be delivered for %s: %s", says, now.Sub(*w.FailingSince).Round(time.Minute), w.LastError)
	case w.State == "paused":
		return warningFinding(fmt.Sprintf("director webhooks resume %s, or delete it", w.Name), "%s", says)
	case w.DeadLetters > 0:
		return warningFinding(fmt.Sprintf("see why: director webhooks deliveries %s --state dead; then director "+
			"webhooks replay %s", w.Name, w.Name),
			"%s", says)
	// Only for an active webhook: a failing one is judged by how long it has failed.
	case w.Lag > maxLag && w.State == "active":
		return warningFinding("see whether a worker delivers, and director webhooks deliveries "+w.Name,
			"%s; the oldest event waits for %s", says,
			w.Lag.Round(time.Minute))
	}
	return goodFinding("%s", says)
}
