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
