package orchestrator

import (
	"context"
	"net/http"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/rivalis/roster"
	"github.com/lattice-director/director/server/rest"
)

// listInstances answers GET /v1/instances.
func (s *REST) listInstances(_ context.Context, in request) (answer, error) {
	page, err := pageOf(in)
	if err != nil {
		return answer{}, err
	}
	return s.answerList(in, func(view *roster.View) answer {
		return listAnswer(func(b []byte) ([]byte, string) { return view.AppendInstances(b, page) })
	})
}

// Reads by id query the database, so that every replica finds a room as soon as its creation is acked, and no replica
// finds it after its end. While the database does not answer, they use this replica's roster; they never answer 404
// from the roster.

// showInstance answers GET /v1/instances/:id.
func (s *REST) showInstance(ctx context.Context, in request) (answer, error) {
	id := in.Param("id")
	info, err := s.options.Lookup.FindAgent(ctx, s.options.Region, id)
	if err == nil {
		return dataAnswer(http.StatusOK, func(b []byte) []byte { return roster.AppendInstanceInfo(b, &info) }), nil
	}
	if listed, ok := s.instanceOfRoster(err, id); ok {
		return dataAnswer(http.StatusOK,
			func(b []byte) []byte { return s.options.Roster.View().AppendInstance(b, listed) }), nil
	}
	return answer{}, err
}

// listRoomsOfInstance answers GET /v1/instances/:id/rooms.
func (s *REST) listRoomsOfInstance(ctx context.Context, in request) (answer, error) {
	id := in.Param("id")
	info, err := s.options.Lookup.FindAgent(ctx, s.options.Region, id)
	if err == nil {
		return dataAnswer(http.StatusOK, func(b []byte) []byte { return appendRooms(b, info.Rooms) }), nil
	}
	if _, ok := s.instanceOfRoster(err, id); ok {
		return dataAnswer(http.StatusOK, func(b []byte) []byte {
			b, _ = s.options.Roster.View().AppendRooms(b, roster.Filter{InstanceID: &id}, roster.Page{})
			return b
		}), nil
	}
	return answer{}, err
}

func appendRooms(b []byte, rooms []db.RoomInfo) []byte {
	b = append(b, '[')
	for i := range rooms {
		if i > 0 {
			b = append(b, ',')
		}
		b = roster.AppendRoomInfo(b, &rooms[i])
	}
	return append(b, ']')
}

// instanceOfRoster returns an instance of this replica's roster, for a lookup that failed with err because the database
// did not answer. After other errors it returns none.
func (s *REST) instanceOfRoster(err error, id string) (*roster.Instance, bool) {
	if !isOutage(err) {
		return nil, false
	}
	return s.options.Roster.Instance(id)
}

// isOutage reports whether an error means that the database did not answer.
func isOutage(err error) bool { return rejectionOf(err) == errNotReady }

// drainInstance answers POST /v1/instances/:id/drain after the ack. With ?keep=true the drain outlives the process.
func (s *REST) drainInstance(ctx context.Context, in request) (answer, error) {
	return ackAnswer(s.options.Commander.Drain(ctx, in.Param("id"), rest.Caller(ctx), in.Query("keep") == "true"))
}

// undrainInstance answers POST /v1/instances/:id/undrain after the ack.
func (s *REST) undrainInstance(ctx context.Context, in request) (answer, error) {
	return ackAnswer(s.options.Commander.Undrain(ctx, in.Param("id"), rest.Caller(ctx)))
}
