package ticketbody

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openmatch "github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/api/ticket/pb"
	"github.com/lattice-director/director/match"
)

// Draft is a ticket that is to be created. Its values are those that package play accepts: names of attributes have no
// colon, no list is called "profile", numbers are finite.
type Draft struct {
	Profiles   []string          // that the ticket asks for
	Tags       []string          // that belong to no attribute, for pools; only clients of Open Match send such tags
	Attributes match.Attributes  // of the ticket, and so of each player
	Players    []match.Player    // with their own attributes only, and the sources of all; none twice
	Latencies  map[string]uint16 // in milliseconds, by region
	// ClaimedLatencies are what the client said of regions for which Latencies has another value; nil: none.
	ClaimedLatencies map[string]uint16
}

// Fields returns what pools filter by: numbers as doubles, texts as strings, each value of a list as a tag
// "name:value", each profile as a tag "profile:NAME". Created is not set.
func Fields(d Draft) match.Fields {
	f := match.Fields{Doubles: map[string]float64{}, Strings: map[string]string{}, Tags: slices.Clone(d.Tags)}
	for _, name := range d.Profiles {
		f.Tags = append(f.Tags, ProfileTag+name)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		switch v := d.Attributes[name]; v.Kind {
		case match.Number:
			f.Doubles[name] = v.Number
		case match.Text:
			f.Strings[name] = v.Text
		// An empty list has no tag; ownValues keeps it.
		case match.List:
			for _, value := range v.List {
				f.Tags = append(f.Tags, name+":"+value)
			}
		}
	}
	return f
}

// Encode returns the body of a ticket: an openmatch.Ticket with the extension. Equal drafts have equal bodies.
func Encode(id string, created time.Time, d Draft) ([]byte, error) {
	rest, err := Prepare(d)
	if err != nil {
		return nil, err
	}
	return rest.Body(id, created), nil
}

// deterministic is for messages with maps, whose order is random otherwise.
var deterministic = proto.MarshalOptions{Deterministic: true}

// Prepared is an encoded body without the ticket's id and creation time, which the store chooses.
type Prepared []byte

// Prepare encodes a draft.
func Prepare(d Draft) (Prepared, error) {
	details := &anypb.Any{}
	if err := anypb.MarshalFrom(details, detailsOf(d), deterministic); err != nil {
		return nil, fmt.Errorf("a ticket's extension: %w", err)
	}
	f := Fields(d)
	return deterministic.Marshal(&openmatch.Ticket{
		SearchFields: &openmatch.SearchFields{DoubleArgs: f.Doubles, StringArgs: f.Strings, Tags: f.Tags},
		Extensions:   map[string]*anypb.Any{TicketExtension: details},
	})
}

// Body returns the body with the ticket's id and creation time. Protobuf merges messages that follow each other, so
// nothing is encoded again.
func (p Prepared) Body(id string, created time.Time) []byte {
	// It cannot fail: an id is ASCII, and so valid UTF-8.
	head, _ := proto.Marshal(&openmatch.Ticket{Id: id, CreateTime: timestamppb.New(created)})
	return append(head, p...)
}

func detailsOf(d Draft) *pb.TicketDetails {
	m := &pb.TicketDetails{Latencies: storedLatencies(d.Latencies),
		ClaimedLatencies: storedLatencies(d.ClaimedLatencies)}
	// Equal drafts have equal bodies, whatever the order in which a party was named.
	players := slices.SortedFunc(slices.Values(d.Players),
		func(a, b match.Player) int { return cmp.Compare(a.Sub, b.Sub) })
	for _, p := range players {
		m.Players = append(m.Players, &pb.Player{Sub: p.Sub, Attributes: ownValues(d.Attributes, p.Attributes),
			Sources: storedSources(p.Sources)})
	}
	return m
}

func storedLatencies(latencies map[string]uint16) map[string]uint32 {
	out := make(map[string]uint32, len(latencies))
	for region, ms := range latencies {
		out[region] = uint32(ms)
	}
	return out
}

// storedSources leaves out the client, which is the source of every attribute that is not named.
func storedSources(sources map[string]match.Source) map[string]pb.Source {
	if len(sources) == 0 {
		return nil
	}
	out := make(map[string]pb.Source, len(sources))
	for name, s := range sources {
		if s == match.FromClaim {
			out[name] = pb.Source_CLAIM
		}
		if s == match.FromBackend {
			out[name] = pb.Source_BACKEND
		}
	}
	return out
}

// ownValues returns a player's own attributes, with the ticket's empty lists, which are no tag.
func ownValues(ticket, own match.Attributes) map[string]*pb.Value {
	out := make(map[string]*pb.Value, len(own))
	for name, v := range ticket {
		if v.Kind == match.List && len(v.List) == 0 {
			out[name] = valueOf(v)
		}
	}
	for name, v := range own {
		out[name] = valueOf(v)
	}
	return out
}

func valueOf(v match.Value) *pb.Value {
	switch v.Kind {
	case match.Number:
		return &pb.Value{Kind: &pb.Value_Number{Number: v.Number}}
	case match.Text:
		return &pb.Value{Kind: &pb.Value_Text{Text: v.Text}}
	// A list, the only other kind that a draft has.
	default:
		return &pb.Value{Kind: &pb.Value_List{List: &pb.List{Values: v.List}}}
	}
}
