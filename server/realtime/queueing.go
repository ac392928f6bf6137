package realtime

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/server/realtime/wire"
	"github.com/lattice-director/director/server/rest"
)

// Queueing returns how sessions queue in a universe, for db.Config. A ticket stays while its sessions live, or for
// ticketTTL if that is not 0.
func Queueing(universe string, ticketTTL time.Duration) *db.Queueing {
	return &db.Queueing{Universe: universe, TicketTTL: ticketTTL, EncodeDraft: encodeTicket}
}

// encodeTicket makes the body of a ticket, in the same way as package play: tickets of both wait in one queue.
func encodeTicket(d db.QueueDraft) (db.QueueBody, error) {
	draft := ticketbody.Draft{Profiles: []string{d.ProfileName}, Latencies: map[string]uint16{},
		ClaimedLatencies: d.ClaimedLatencies}
	var err error
	if draft.Attributes, err = attributesOf(d.LobbyQueue.Attributes); err != nil {
		return db.QueueBody{}, err
	}
	// The built-in profile matches only tickets whose values of this attribute are equal.
	if d.Bucket != "" {
		draft.Attributes[db.QueueAttribute] = match.Value{Kind: match.Text, Text: d.Bucket}
	}
	if len(d.LobbyQueue.Latencies) > ticketbody.MaxRegions {
		return db.QueueBody{}, invalidTicket("latencies")
	}
	for region, ms := range d.LobbyQueue.Latencies {
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
	return db.QueueBody{SearchFields: ticketbody.Fields(draft), EncodeBody: body.Body, Bytes: len(body),
		JudgedTicket: ticket}, err
}

func invalidTicket(field string) error {
	return &fault.Error{Kind: fault.Invalid, Code: wire.CodeInvalid, Field: field,
		Detail: field + " are not those of a ticket"}
}

// attributesOf converts the attributes of a request: numbers, texts and lists of texts; null is absent.
func attributesOf(raw json.RawMessage) (match.Attributes, error) {
	var values map[string]json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &values) != nil || len(values) > match.MaxAttributes {
		return nil, invalidTicket("attributes")
	}
	all := match.Attributes{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v, problem := match.ParseAttribute(name, values[name])
		switch {
		// null is absent, whatever its name is.
		case problem != "" || v.Kind != 0 && !rest.Mode.Valid(name):
			return nil, invalidTicket("attributes." + name)
		case v.Kind != 0:
			all[name] = v
		}
	}
	// The bound of the other faces, which count names and values alike.
	if all.Bytes() > match.MaxAttributeBytes {
		return nil, invalidTicket("attributes")
	}
	return all, nil
}

// latenciesOf reads the latencies of a request, in milliseconds by region.
func latenciesOf(raw json.RawMessage) (map[string]float64, *wire.Failure) {
	var measured map[string]*float64
	if json.Unmarshal(raw, &measured) != nil {
		return nil, wire.InvalidField("latencies", "has to be an object of regions and milliseconds")
	}
	byRegion := make(map[string]float64, len(measured))
	for _, region := range slices.Sorted(maps.Keys(measured)) {
		ms := measured[region]
		// null: the client could not measure it, and the region is left out, as in a request for a ticket.
		if ms == nil {
			continue
		}
		if _, ok := match.LatencyOf(*ms); !ok {
			return nil, wire.InvalidField("latencies."+region,
				fmt.Sprintf("has to be a whole number of milliseconds from 0 to %d", match.MaxLatency))
		}
		byRegion[region] = *ms
	}
	return byRegion, nil
}

// ensureProfiles makes the built-in profiles of the queue, as soon as the database can be reached.
func (s *Server) ensureProfiles(ctx context.Context) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	follow.Loop{
		Name: "realtime profiles", Every: retryEvery, Timeout: s.options.timing.callTimeout, Guard: s.guard,
		Do: func(ctx context.Context, _ bool) error {
			err := s.store.EnsureRealtimeProfiles(ctx, s.options.Universe)
			s.outageLog.Report(ctx, "make the built-in profiles", err)
			// One success is enough: the profiles stay in the database.
			if err == nil {
				done()
			}
			return err
		},
	}.Run(ctx)
}
