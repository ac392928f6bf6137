package realtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/server/realtime/wire"
	"github.com/lattice-director/director/server/rest"
)

// Bounds of a ticket's attributes, as package play has them.
const (
	maxAttributes = 64
	maxText       = 1024 // bytes
	maxList       = 64
)

// Queueing returns how sessions queue in a universe, for db.Config. A ticket stays while its sessions live, or for
// ticketTTL if that is not 0.
func Queueing(universe string, ticketTTL time.Duration) *db.Queueing {
	return &db.Queueing{Universe: universe, TTL: ticketTTL, Encode: encodeTicket}
}

// ensureProfiles makes the built-in profiles of the queue, as soon as the database can be reached.
func (s *Server) ensureProfiles(ctx context.Context) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	follow.Loop{
		Name: "realtime profiles", Every: retryEvery, Timeout: s.options.timing.call, Guard: s.guard,
		Do: func(ctx context.Context, _ bool) error {
			err := s.store.EnsureRealtimeProfiles(ctx, s.options.Universe)
			s.outages.Report(ctx, "make the built-in profiles", err)
			if err == nil {
				done()
			}
			return err
		},
	}.Run(ctx)
}

func encodeTicket(d db.QueueDraft) (db.QueueBody, error) {
	draft := ticketbody.Draft{Profiles: []string{d.Profile}, Latencies: map[string]uint16{}}
	var err error
	if draft.Attributes, err = attributesOf(d.Queue.Attributes); err != nil {
		return db.QueueBody{}, err
	}
	if d.Bucket != "" {
		draft.Attributes[db.QueueAttribute] = match.Value{Kind: match.Text, Text: d.Bucket}
	}
	if len(d.Queue.Latencies) > ticketbody.MaxRegions {
		return db.QueueBody{}, invalidTicket("latencies")
	}
	for region, ms := range d.Queue.Latencies {
		if !rest.Region.Valid(region) || !(ms >= 0 && ms <= ticketbody.MaxLatency) {
			return db.QueueBody{}, invalidTicket("latencies")
		}
		draft.Latencies[region] = uint16(math.Round(ms)) // a room of an earlier release may have accepted a fraction
	}
	for _, sub := range d.Players {
		draft.Players = append(draft.Players, match.Player{Sub: sub})
	}
	body, err := ticketbody.Prepare(draft)
	ticket := func(created time.Time) (*match.Ticket, error) {
		return ticketbody.Decode("", created, body.Body("", created), "")
	}
	return db.QueueBody{Fields: ticketbody.Fields(draft), Body: body.Body, Bytes: len(body), Ticket: ticket}, err
}

func invalidTicket(field string) error {
	return &fault.Error{Kind: fault.Invalid, Code: wire.CodeInvalid, Field: field,
		Detail: field + " are not those of a ticket"}
}

// attributesOf converts the attributes of a request: numbers, texts and lists of texts; null is absent.
func attributesOf(raw json.RawMessage) (match.Attributes, error) {
	values, ok := attributeValues(raw)
	if !ok || len(values) > maxAttributes {
		return nil, invalidTicket("attributes")
	}
	all := match.Attributes{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if values[name] == nil {
			continue
		}
		v, ok := attributeOf(values[name])
		if !ok || !rest.Mode.Valid(name) || v.Kind == match.List && name == "profile" {
			return nil, invalidTicket("attributes." + name)
		}
		all[name] = v
	}
	return all, nil
}

// attributeValues decodes an object. Its numbers are texts, so that none is rounded before it is checked.
func attributeValues(raw json.RawMessage) (values map[string]any, ok bool) {
	if len(raw) == 0 {
		return nil, true
	}
	from := json.NewDecoder(bytes.NewReader(raw))
	from.UseNumber()
	return values, from.Decode(&values) == nil
}

// checkLatencies returns what is wrong with the latencies of a request, or nil.
func checkLatencies(byRegion map[string]float64) *wire.Failure {
	for _, region := range slices.Sorted(maps.Keys(byRegion)) {
		if _, ok := match.LatencyOf(byRegion[region]); !ok {
			return wire.InvalidField("latencies."+region,
				fmt.Sprintf("has to be a whole number of milliseconds from 0 to %d", match.MaxLatency))
		}
	}
	return nil
}

func attributeOf(value any) (v match.Value, ok bool) {
	switch value := value.(type) {
	case json.Number:
		number, problem := match.ParseNumber(value.String())
		return match.Value{Kind: match.Number, Number: number}, problem == ""
	case string:
		return match.Value{Kind: match.Text, Text: value}, validText(value)
	case []any:
		for _, item := range value {
			text, is := item.(string)
			if !is || !validText(text) || len(value) > maxList {
				return v, false
			}
			v.List = append(v.List, text)
		}
		v.Kind = match.List
		return v, true
	}
	return v, false
}

func validText(text string) bool {
	odd := func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }
	return len(text) <= maxText && !strings.ContainsFunc(text, odd)
}
