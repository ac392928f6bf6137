package edgegap

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/internal/httpcall"
)

// status is the body of GET /v1/status, and an entry of a list.
type status struct {
	ID       string   `json:"request_id"`
	FQDN     string   `json:"fqdn"`
	IP       string   `json:"public_ip"`
	Current  string   `json:"current_status"`
	Running  bool     `json:"running"`
	Ready    bool     `json:"ready"` // in lists, which have no current_status
	Started  stamp    `json:"start_time"`
	Removal  stamp    `json:"removal_time"`
	Error    bool     `json:"error"`
	Detail   string   `json:"error_detail"`
	Ports    ports    `json:"ports"`
	Location location `json:"location"`
	Tags     []string `json:"tags"`
}

type location struct {
	City    string `json:"city"`
	Country string `json:"country"`
}

// decodeStatus reads a status. Errors: the body is no status.
func decodeStatus(body []byte) (provider.Observation, error) {
	var s status
	if err := json.Unmarshal(body, &s); err != nil {
		return provider.Observation{}, fmt.Errorf("is no status: %w", err)
	}
	// Without this any JSON object would be a status.
	if s.Current == "" {
		return provider.Observation{}, errors.New("is no status: current_status is absent")
	}
	o, err := s.observationOf()
	if err != nil {
		return provider.Observation{}, err
	}
	o.Phase, o.Raw = s.phaseOf()
	return o, nil
}

// maxText bounds texts that are stored: names of hosts and places.
const maxText = 255

// observationOf returns what status and lists have in common: all but the phase.
func (s status) observationOf() (provider.Observation, error) {
	if !validRef(s.ID) {
		return provider.Observation{}, errors.New("request_id is absent or of another form")
	}
	ip, _ := netip.ParseAddr(s.IP) // absent before the server is ready
	place := slices.DeleteFunc([]string{s.Location.City, s.Location.Country}, func(p string) bool { return p == "" })
	return provider.Observation{
		Ref: provider.Ref(s.ID), Tag: tagOf(s.Tags), IP: ip, FQDN: scrubTo(s.FQDN, maxText), Ports: s.Ports,
		Location: scrubTo(strings.Join(place, ", "), maxText), Started: s.Started.Time, Ends: s.Removal.Time,
		Error: scrubTo(s.Detail, provider.MaxErrorBytes),
	}, nil
}

// scrubTo returns a text without control characters, of n bytes at most.
func scrubTo(s string, n int) string {
	s = httpcall.Scrub(s, nil)
	// The cut may lie within a character.
	return strings.ToValidUTF8(s[:min(len(s), n)], "")
}

// phaseOf returns the phase and the API's word for it.
func (s status) phaseOf() (phase provider.Phase, raw string) {
	// The API writes Status.READY.
	raw = strings.ToUpper(strings.TrimPrefix(scrubTo(s.Current, 40), "Status."))
	switch {
	case raw == "TERMINATED":
		phase = provider.PhaseGone
	case raw == "TERMINATING":
		phase = provider.PhaseStopping
	case raw == "ERROR" || s.Error:
		phase = provider.PhaseFailed
	case raw == "READY" && s.Running:
		phase = provider.PhaseReady
	case raw == "READY" || raw == "DEPLOYING":
		phase = provider.PhaseStarting
	case raw == "SEEKING":
		phase = provider.PhasePending
	default:
		phase = provider.PhaseUnknown
	}
	return phase, raw
}

// tagOf returns the director's own tag: the one that is no owner.
func tagOf(tags []string) provider.Tag {
	for _, t := range tags {
		if tag := provider.Tag(t); tag.Valid() && len(t) == provider.MaxTagBytes && !provider.Owner(t).Valid() {
			return tag
		}
	}
	return ""
}

// decodePage reads a page of the list and keeps what has all tags.
func decodePage(body []byte, number int, tags []string) (provider.Page, error) {
	var v struct {
		Total *int      `json:"total_count"`
		Data  *[]status `json:"data"`
		Pages struct {
			Next    int  `json:"next_page_number"`
			HasNext bool `json:"has_next"`
		} `json:"pagination"`
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return provider.Page{}, fmt.Errorf("is no list: %w", err)
	}
	// Taken for an empty list, another answer would make all deployments look gone.
	if v.Total == nil || v.Data == nil {
		return provider.Page{}, errors.New("is no list: total_count or data is absent")
	}
	page := provider.Page{Total: *v.Total}
	for _, s := range *v.Data {
		o, err := s.observationOf()
		if err != nil {
			return provider.Page{}, err
		}
		// The filter of the API is not trusted: without it the page would have the deployments of others.
		if slices.ContainsFunc(tags, func(t string) bool { return !slices.Contains(s.Tags, t) }) {
			page.Skipped++
			continue
		}
		// A list says only whether a deployment is ready. Get has its phase.
		o.Phase = provider.PhaseStarting
		if s.Ready {
			o.Phase = provider.PhaseReady
		}
		page.Deployments = append(page.Deployments, o)
	}
	if v.Pages.HasNext {
		// A list that skips or repeats pages would make deployments look gone.
		if v.Pages.Next != number+1 {
			return provider.Page{}, fmt.Errorf("page %d is followed by page %d", number, v.Pages.Next)
		}
		page.Next = strconv.Itoa(v.Pages.Next)
	}
	return page, nil
}

// ports reads a map by name or a list. It is nil where the body has none.
type ports map[string]provider.Port

type port struct {
	Name     string `json:"name"`
	Internal int    `json:"internal"`
	External int    `json:"external"`
	Protocol string `json:"protocol"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *ports) UnmarshalJSON(text []byte) error {
	var byName map[string]port
	if len(text) > 0 && text[0] == '[' {
		var list []port
		if err := json.Unmarshal(text, &list); err != nil {
			return err
		}
		byName = make(map[string]port, len(list))
		for _, one := range list {
			if _, twice := byName[one.Name]; twice {
				return fmt.Errorf("port %.40q occurs twice", one.Name)
			}
			byName[one.Name] = one
		}
	} else if err := json.Unmarshal(text, &byName); err != nil {
		return err
	}
	return p.setPorts(byName)
}

// setPorts replaces the ports. Errors: too many, or one that cannot be stored.
func (p *ports) setPorts(byName map[string]port) error {
	if len(byName) > provider.MaxPorts {
		return fmt.Errorf("%d ports, more than %d", len(byName), provider.MaxPorts)
	}
	*p = nil
	for name, one := range byName {
		// Names are stored, and numbers must fit a port.
		if name == "" || len(name) > maxText || !isPort(one.Internal) || !isPort(one.External) {
			return fmt.Errorf("port %.40q is %d outside and %d inside", name, one.External, one.Internal)
		}
		if *p == nil {
			*p = ports{}
		}
		protocol := provider.Protocol(strings.ToLower(scrubTo(one.Protocol, 16)))
		(*p)[name] = provider.Port{Name: name, Internal: uint16(one.Internal), External: uint16(one.External),
			Protocol: protocol}
	}
	return nil
}

func isPort(n int) bool { return n >= 1 && n <= math.MaxUint16 }

// stamp is a time of the API: in UTC and without a zone. It is zero where it is absent or of another form: only people
// read it.
type stamp struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (s *stamp) UnmarshalJSON(text []byte) error {
	var word string
	if json.Unmarshal(text, &word) == nil {
		s.Time, _ = parseTime(word)
	}
	return nil
}

// parseTime reads "2026-04-22 12:00:46.444265", with any number of decimals or none, and nothing else.
func parseTime(word string) (time.Time, error) {
	t, err := time.Parse(time.DateTime, word)
	if err != nil || strings.Contains(word, ",") { // time.Parse accepts a comma as decimal point
		return time.Time{}, fmt.Errorf("%.40q is no time of the API", word)
	}
	return t, nil
}

// validRef reports whether a request id may be part of a path.
func validRef(id string) bool {
	// A slash or a dot could lead to another resource of the API.
	return id != "" && len(id) <= provider.MaxRefBytes && !strings.ContainsFunc(id, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
