package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nlnwa/whatwg-url/url"

	"github.com/lattice-director/director/internal/base/endpoint"
)

// refusal says which part of a snapshot is outside the limits. It never quotes a value: agents' texts stay out of the
// log.
type refusal struct{ reason string }

func (r *refusal) Error() string { return r.reason }

func refusalError(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// checkLimits returns a *refusal for the first part of a full state that is outside the limits: first upstream's limits
// in upstream's order, then the limits of the database. It does not check protocolVersion and the sign of capacities.
func (s *state) checkLimits() error {
	// The reason is logged. In this order it is the one that upstream would log for the same snapshot.
	checks := []func() error{s.snapshot.checkSizes, s.snapshot.checkEndpoint, s.snapshot.checkLabels,
		s.snapshot.checkRooms, s.checkShort, s.checkStorable}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *snapshot) checkSizes() error {
	switch {
	case isLongerThan(s.endpointURL, maxEndpointUnits):
		return refusalError("endpointUrl has more than %d characters", maxEndpointUnits)
	case isLongerThan(s.name, maxNameUnits):
		return refusalError("name has more than %d characters", maxNameUnits)
	case len(s.roomTypes) > maxRoomTypes:
		return refusalError("roomTypes has more than %d entries", maxRoomTypes)
	case slices.ContainsFunc(s.roomTypes, func(kind string) bool { return isLongerThan(kind, maxRoomTypeUnits) }):
		return refusalError("an entry of roomTypes has more than %d characters", maxRoomTypeUnits)
	case len(s.rooms) > maxRooms:
		return refusalError("rooms has more than %d entries", maxRooms)
	}
	return nil
}

func (s *snapshot) checkLabels() error {
	if len(s.labels) > maxLabels {
		return refusalError("labels has more than %d entries", maxLabels)
	}
	for key, value := range s.labels {
		if isLongerThan(key, maxLabelUnits) {
			return refusalError("a key of labels has more than %d characters", maxLabelUnits)
		}
		if isLongerThan(value, maxLabelUnits) {
			return refusalError("a value of labels has more than %d characters", maxLabelUnits)
		}
	}
	return nil
}

func (s *snapshot) checkRooms() error {
	for _, r := range s.rooms {
		switch {
		case isLongerThan(r.rawID, maxRoomIDUnits):
			return refusalError("the id of a room has more than %d characters", maxRoomIDUnits)
		case isLongerThan(r.roomType, maxRoomTypeUnits):
			return refusalError("the type of a room has more than %d characters", maxRoomTypeUnits)
		case r.connections > maxRoomConnections:
			return refusalError("a room has more than %d connections", maxRoomConnections)
		}
	}
	return nil
}

// checkShort checks texts that upstream does not limit, and that the database stores.
func (s *state) checkShort() error {
	c := &s.snapshot
	switch {
	case isLongerThan(s.hash, maxShortUnits):
		return refusalError("hash has more than %d characters", maxShortUnits)
	case isLongerThan(c.processUID, maxShortUnits):
		return refusalError("processUid has more than %d characters", maxShortUnits)
	case isLongerThan(c.agentVersion, maxShortUnits):
		return refusalError("agentVersion has more than %d characters", maxShortUnits)
	case isLongerThan(c.status, maxShortUnits):
		return refusalError("status has more than %d characters", maxShortUnits)
	}
	return nil
}

// checkStorable refuses U+0000, which Postgres cannot store, except in ids of rooms, which are stored percent-encoded.
func (s *state) checkStorable() error {
	c := &s.snapshot
	for key, value := range c.labels {
		if hasNUL(key) || hasNUL(value) {
			return refusalError("labels contains U+0000")
		}
	}
	switch {
	case hasNUL(s.hash):
		return refusalError("hash contains U+0000")
	case hasNUL(c.name):
		return refusalError("name contains U+0000")
	case hasNUL(c.processUID):
		return refusalError("processUid contains U+0000")
	case hasNUL(c.agentVersion):
		return refusalError("agentVersion contains U+0000")
	case hasNUL(c.endpointURL):
		return refusalError("endpointUrl contains U+0000")
	case hasNUL(c.status):
		return refusalError("status contains U+0000")
	case slices.ContainsFunc(c.roomTypes, hasNUL):
		return refusalError("an entry of roomTypes contains U+0000")
	case slices.ContainsFunc(c.rooms, func(r room) bool { return hasNUL(r.roomType) }):
		return refusalError("the type of a room contains U+0000")
	}
	return nil
}

func hasNUL(text string) bool { return strings.IndexByte(text, 0) >= 0 }

// endpointSchemes are the allowed schemes; javascript: and the like could harm a page that renders an endpoint.
var endpointSchemes = []string{"ws", "wss", "http", "https"}

// urls parses as browsers and Node do, which agents and players use; net/url parses differently.
var urls = url.NewParser()

func (s *snapshot) checkEndpoint() error {
	u, err := urls.Parse(s.endpointURL)
	if err != nil {
		return refusalError("endpointUrl is not a URL")
	}
	if !slices.Contains(endpointSchemes, u.Scheme()) {
		return refusalError("endpointUrl has a scheme other than ws, wss, http and https")
	}
	if !endpoint.IsDialableHost(strings.Trim(u.Hostname(), "[]")) || u.Port() == "0" {
		return refusalError("endpointUrl must be what players dial, not what the server binds")
	}
	return nil
}
