package orchestrator

import (
	"context"
	"net/http"
	"strings"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/rivalis/roster"
	"github.com/lattice-director/director/server/rest"
)

// listRooms answers GET /v1/rooms. Its entity tag covers the whole fleet.
func (s *REST) listRooms(_ context.Context, in request) (answer, error) {
	page, err := pageOf(in)
	if err != nil {
		return answer{}, err
	}
	filter := filterOf(in)
	return s.answerList(in, func(view *roster.View) answer {
		return listAnswer(func(b []byte) ([]byte, string) { return view.AppendRooms(b, filter, page) })
	})
}

// filterOf reads ?type=, ?instanceId= and ?label=k:v. As upstream, it ignores a repeated type or instanceId, and a
// label without a key.
func filterOf(in request) roster.Filter {
	filter := roster.Filter{Type: singleValue(in.Queries("type")), InstanceID: singleValue(in.Queries("instanceId"))}
	for _, label := range in.Queries("label") {
		if key, value, ok := strings.Cut(label, ":"); ok && key != "" {
			filter.Labels = append(filter.Labels, roster.Label{Key: key, Value: value})
		}
	}
	return filter
}

// singleValue returns the value of a query parameter. It returns nil if the parameter is absent, repeated or empty.
func singleValue(values []string) *string {
	if len(values) != 1 || values[0] == "" {
		return nil
	}
	return &values[0]
}

// showRoom answers GET /v1/rooms/:id.
func (s *REST) showRoom(ctx context.Context, in request) (answer, error) {
	id := in.Param("id")
	info, err := s.options.Lookup.FindRoom(ctx, s.options.Region, id)
	if err == nil {
		return roomAnswer(http.StatusOK, &info), nil
	}
	// During an outage of the database the roster is the best answer that there is.
	if isOutage(err) {
		if b, ok := s.options.Roster.AppendRoom([]byte(dataBegins), id); ok {
			return answer{status: http.StatusOK, body: closeObject(b)}, nil
		}
	}
	return answer{}, err
}

func roomAnswer(status int, r *db.RoomInfo) answer {
	return dataAnswer(status, func(b []byte) []byte { return roster.AppendRoomInfo(b, r) })
}

// createRoom answers POST /v1/rooms after the ack.
func (s *REST) createRoom(ctx context.Context, in rest.In[createRequest]) (answer, error) {
	r := in.Body.room
	r.Actor = rest.Caller(ctx)
	created, err := s.options.Commander.Create(ctx, r)
	if err := commandError(created, err); err != nil {
		return answer{}, err
	}
	return roomAnswer(http.StatusCreated, &created.CreatedRoom), nil
}

// destroyRoom answers DELETE /v1/rooms/:id after the ack.
func (s *REST) destroyRoom(ctx context.Context, in request) (answer, error) {
	return ackAnswer(s.options.Commander.Destroy(ctx, in.Param("id"), rest.Caller(ctx)))
}
