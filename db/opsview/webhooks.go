package opsview

import (
	"time"

	"github.com/google/uuid"
)

// Webhook is a subscription to the event log.
type Webhook struct {
	Name  string    `db:"name" json:"name"`
	ID    uuid.UUID `db:"webhook" json:"id"`
	URL   string    `db:"url" json:"url"`
	Kinds []string  `db:"kinds" json:"kinds"`
	State string    `db:"state" json:"state"` // active, failing or paused
	// Reason is why it is paused; "": not known.
	Reason       string        `db:"reason" sql:"coalesce(reason, '')" json:"reason"`
	Lag          time.Duration `db:"lag" json:"lag"`                     // since the oldest event that waits
	FailingSince *time.Time    `db:"failing_since" json:"failing_since"` // nil: the last deliveries succeeded
	Failures     int32         `db:"failures" json:"failures"`           // rounds of deliveries that failed in a row
	NextAt       *time.Time    `db:"next_at" json:"next_at"`             // when a webhook that fails is tried again
	// LastError is the error of the last delivery that failed; "": none has failed.
	LastError   string     `db:"last_error" sql:"coalesce(last_error, '')" json:"last_error"`
	FailedAt    *time.Time `db:"failed_at" json:"failed_at"`
	Delivered   int64      `db:"delivered" json:"delivered"`
	DeliveredAt *time.Time `db:"delivered_at" json:"delivered_at"`
	Waiting     int64      `db:"waiting" json:"waiting"` // for another attempt
	DeadLetters int64      `db:"dead_letters" json:"dead_letters"`
	Worker      *uuid.UUID `db:"worker" json:"worker"` // that delivers; nil: none does
	CreatedAt   time.Time  `db:"created_at" json:"created_at"`
	CursorTx    uint64     `db:"tx" json:"-"`
	CursorID    uuid.UUID  `db:"id" json:"-"`
}

// Cursor returns how far the webhook has come in the log: each event up to this place was delivered, does not concern
// the webhook, or is among its deliveries.
func (w Webhook) Cursor() EventCursor { return EventCursor{w.CursorTx, w.CursorID} }

// Webhooks are sorted by name.
var Webhooks = View[Webhook, WebhookFilter]{name: "webhooks", order: Order{"name"}}

// WebhookFilter selects the webhook of a name; "" selects all.
type WebhookFilter struct{ Name string }

func (f WebhookFilter) selectRows(w *where) { w.addEqual("name", f.Name) }

// WebhookDelivery is an event whose first delivery to a webhook failed, or that waits behind such an event.
type WebhookDelivery struct {
	Name     string     `db:"name" json:"name"`
	Event    uuid.UUID  `db:"event" json:"event"` // the webhook-id is evt_ and this id
	Kind     string     `db:"kind" json:"kind"`
	Subject  string     `db:"subject" json:"subject"`
	State    string     `db:"state" json:"state"` // retrying, behind or dead
	At       time.Time  `db:"at" json:"at"`       // when the event happened
	Attempts int32      `db:"attempts" json:"attempts"`
	FirstAt  time.Time  `db:"first_at" json:"first_at"`
	NextAt   *time.Time `db:"next_at" json:"next_at"` // nil: it waits behind another event, or is dead
	// LastError is the error of the last attempt; "": it was not tried.
	LastError string     `db:"last_error" sql:"coalesce(last_error, '')" json:"last_error"`
	DeadAt    *time.Time `db:"dead_at" json:"dead_at"`
	Body      string     `db:"body" json:"body"` // what is sent, as JSON
	Tx        uint64     `db:"tx" json:"-"`
}

// WebhookDeliveries are sorted by webhook, in the order of the log.
var WebhookDeliveries = View[WebhookDelivery, WebhookDeliveryFilter]{name: "webhook_deliveries",
	order: Order{"name", "tx", "event"}}

// WebhookDeliveryFilter selects the deliveries of a webhook, in a state, of an event. Empty fields select all.
type WebhookDeliveryFilter struct {
	Name, State string
	Event       uuid.UUID
}

func (f WebhookDeliveryFilter) selectRows(w *where) {
	w.addEqual("name", f.Name)
	w.addEqual("state", f.State)
	if f.Event != uuid.Nil {
		w.add("event = ?", f.Event)
	}
}

// RecordedEvent says whether the events of a noun, which are recorded on demand only, are recorded.
type RecordedEvent struct {
	Noun     string `db:"noun" json:"noun"`         // seat, ticket or match
	Kept     bool   `db:"kept" json:"kept"`         // an operator asks for them
	Recorded bool   `db:"recorded" json:"recorded"` // an operator or a webhook does
}

// RecordedEvents are sorted by noun.
var RecordedEvents = View[RecordedEvent, Any]{name: "recorded_events", order: Order{"noun"}}
