package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/token"
)

// An operator makes a webhook, sees how far it has come, pauses it, replays a dead letter and ends it.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	environ := env("DATABASE_URL="+s.URL, "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK)
	require.Empty(t, clitest.Read[[]opsview.Webhook](t, director, environ, "webhooks", "list"))
	made := clitest.Read[[]opsview.Webhook](t, director, environ, "webhooks", "create", "studio", "https://studio.example/hook", "--kinds", "seat.*,session.closed")
	require.Equal(t, []string{"seat.*", "session.closed"}, made[0].Kinds)
	require.Equal(t, "active", made[0].State)
	require.Contains(t, director.OK(t, environ, "webhooks", "show", "studio"), "https://studio.example/hook")
	require.Equal(t, "paused", clitest.Read[[]opsview.Webhook](t, director, environ, "webhooks", "pause", "studio", "--reason", "a test")[0].State)
	require.ErrorContains(t, director.Run(t, environ, "", "webhooks", "test", "studio").Err, "webhook studio is paused")
	require.Equal(t, "active", clitest.Read[[]opsview.Webhook](t, director, environ, "webhooks", "resume", "studio")[0].State)

	s.Exec(`INSERT INTO webhook_deliveries (webhook, tx, id, subject, kind, at, body, attempts, dead_at)
		SELECT id, '7', '01935f6e-2f4d-7a7e-a7a6-5d1d3b3f0d52', 's', 'session.closed', now(), '{}', 20, now() FROM webhooks`)
	dead := clitest.Read[[]opsview.WebhookDelivery](t, director, environ, "webhooks", "deliveries", "studio", "--state", "dead")
	require.Equal(t, "dead", dead[0].State)
	require.Equal(t, []replayedLine{{"studio", 0}}, clitest.Read[[]replayedLine](t, director, environ, "webhooks", "replay", "studio", "--event", "01935f6e-2f4d-7a7e-a7a6-5d1d3b3f0d53"))
	require.Equal(t, []replayedLine{{"studio", 1}}, clitest.Read[[]replayedLine](t, director, environ, "webhooks", "replay", "studio"))
	require.Equal(t, "retrying", clitest.Read[[]opsview.WebhookDelivery](t, director, environ, "webhooks", "deliveries", "studio")[0].State)
	require.ErrorContains(t, director.Run(t, environ, "", "webhooks", "test", "studio", "--timeout", "10ms").Err, "was not delivered in time")

	require.ErrorIs(t, director.Run(t, environ, "no\n", "webhooks", "delete", "studio").Err, errNotConfirmed)
	director.OK(t, environ, "webhooks", "delete", "studio", "--yes")
	require.ErrorContains(t, director.Run(t, environ, "", "webhooks", "show", "studio").Err, `there is no webhook "studio"`)
	for text, args := range map[string][]string{
		"did you mean session.closed?": {"webhooks", "create", "a", "https://a.example", "--kinds", "session.close"},
		"--kinds is required":          {"webhooks", "create", "a", "https://a.example"},
		"--state":                      {"webhooks", "deliveries", "a", "--state", "lost"},
		"--event":                      {"webhooks", "replay", "a", "--event", "x"},
	} {
		refused := director.Run(t, environ, "", args...)
		require.Equal(t, 2, cli.ExitCode(refused.Err), args)
		require.ErrorContains(t, refused.Err, text)
	}
	require.ErrorContains(t, director.Run(t, environ, "", "webhooks", "create", "a", "ftp://a.example", "--kinds", "*").Err, "must be an http or https URL")

	director.OK(t, environ, "keys", "rotate")
	require.Len(t, clitest.Read[[]token.WebhookKey](t, director, environ, "webhooks", "keys"), 2)
	recorded := clitest.Read[[]opsview.RecordedEvent](t, director, environ, "events", "record", "ticket")
	require.Equal(t, []opsview.RecordedEvent{{Noun: "match"}, {Noun: "seat"}, {Noun: "ticket", Kept: true, Recorded: true}}, recorded)
	require.False(t, clitest.Read[[]opsview.RecordedEvent](t, director, environ, "events", "record", "ticket", "--off")[2].Recorded)
}

// Pins a test that waits for events of others, or takes their failure for that of its own event.
func TestAWebhookIsTestedByItsOwnEvent(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	environ := env("DATABASE_URL=" + s.URL)
	director.OK(t, environ, "webhooks", "create", "studio", "https://studio.example/hook", "--kinds", "session.closed")
	s.Exec(`INSERT INTO webhook_deliveries (webhook, tx, id, subject, kind, at, body, attempts, next_at, last_error)
		SELECT id, '7', gen_random_uuid(), 's', 'session.closed', now() - interval '1 hour', '{}', 3, now() + interval '1 hour', 'it answers 500' FROM webhooks`)
	s.Exec(`UPDATE webhook_progress SET last_error = 'it answers 500', failed_at = now()`)
	test := func(args ...string) <-chan clitest.Result {
		over := make(chan clitest.Result, 1)
		go func() {
			over <- director.Run(t, environ, "", append([]string{"webhooks", "test", "studio"}, args...)...)
		}()
		return over
	}
	const tested = "SELECT count(*) FROM ops.event_feed WHERE kind = 'webhook.tested'"

	delivered := test("-o", "json")
	s.Eventually(1, tested)
	// A step that delivers it, while the other event waits and its failure is newer than the test.
	s.Exec(`UPDATE webhook_progress p SET tx = e.tx, id = e.id, failed_at = clock_timestamp() FROM events e WHERE e.kind = 'webhook.tested'`)
	r := <-delivered
	require.NoError(t, r.Err, r.Stderr)
	require.Contains(t, r.Stdout, `"webhook_id": "evt_`)

	refused := test()
	s.Eventually(2, tested)
	s.Exec(`INSERT INTO webhook_deliveries (webhook, tx, id, subject, kind, at, body, attempts, next_at, last_error)
		SELECT p.webhook, e.tx, e.id, '', e.kind, e.at, '{}', 1, now(), 'it answers 403' FROM webhook_progress p, events e
		WHERE e.kind = 'webhook.tested' AND (e.tx, e.id) > (p.tx, p.id)`)
	s.Exec(`UPDATE webhook_progress p SET tx = e.tx, id = e.id FROM events e WHERE e.kind = 'webhook.tested' AND (e.tx, e.id) > (p.tx, p.id)`)
	require.ErrorContains(t, (<-refused).Err, "webhook studio failed: it answers 403")

	down := test()
	s.Eventually(3, tested)
	s.Exec(`UPDATE webhook_progress SET failing_since = now(), failed_at = clock_timestamp(), last_error = 'nobody listens'`)
	require.ErrorContains(t, (<-down).Err, "webhook studio failed: nobody listens")
}
