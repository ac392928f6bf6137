package webhooks

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
)

// kindTested is the kind of an event that goes to the webhook that it names, whatever kinds that asks for.
const kindTested = "webhook.tested"

// payload is the body of a request.
type payload struct {
	Type      string            `json:"type"`
	Timestamp string            `json:"timestamp"` // of the event, not of the attempt
	Data      opsview.EventLine `json:"data"`
}

// subjectFields are those fields of a detail that name what an event is about.
type subjectFields struct {
	Ticket  string `json:"ticket"`
	Room    string `json:"room"`
	Webhook string `json:"webhook"`
}

func fieldsOf(e opsview.Event) (f subjectFields) {
	var all map[string]json.RawMessage
	if json.Unmarshal(e.Detail, &all) != nil {
		return f
	}
	for name, to := range map[string]*string{"ticket": &f.Ticket, "room": &f.Room, "webhook": &f.Webhook} {
		_ = json.Unmarshal(all[name], to) // a room of the orchestrator is an object: it stays ""
	}
	return f
}

// concernsWebhook reports whether an event goes to a webhook.
func concernsWebhook(s db.WebhookState, e opsview.Event) bool {
	if e.Kind == kindTested {
		return fieldsOf(e).Webhook == s.Name
	}
	return opsview.Selection{Kinds: s.EventKinds}.Selects(e)
}

// letterOf returns the letter of an event.
func letterOf(e opsview.Event) (db.Letter, error) {
	var body bytes.Buffer
	encode := json.NewEncoder(&body)
	encode.SetEscapeHTML(false)
	e.At = e.At.UTC()
	if err := encode.Encode(payload{e.Kind, e.At.Format(time.RFC3339Nano), e.Line()}); err != nil {
		return db.Letter{}, err
	}
	return db.Letter{
		Cursor: e.Cursor(), Subject: subjectOf(e), EventKind: e.Kind, HappenedAt: e.At,
		Body: string(bytes.TrimSuffix(body.Bytes(), []byte{'\n'})),
	}, nil
}

// subjectOf names what an event is about: events of one subject are sent in order.
func subjectOf(e opsview.Event) string {
	fields := fieldsOf(e)
	switch {
	case e.Session != "":
		return "session " + e.Session
	case fields.Ticket != "":
		return "ticket " + e.Region + " " + fields.Ticket
	case e.Instance != "":
		return "instance " + e.Instance
	case fields.Room != "":
		return "room " + e.Region + " " + fields.Room
	}
	// Events about nothing in particular share one order.
	return "director"
}

// webhookID returns the webhook-id of the event with an id, the same in each attempt.
func webhookID(event uuid.UUID) string { return "evt_" + event.String() }
