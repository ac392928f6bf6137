package fleet

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
)

type seatsRequest struct {
	InstanceID      string     `json:"instance_id"`
	Incarnation     *uuid.UUID `json:"incarnation"`
	SessionID       string     `json:"session_id"`
	Joined          []*joined  `json:"joined"`
	Left            []string   `json:"left"`
	LeftConnections []*string  `json:"left_connections"` // one for each entry of Left, in the same order; nil if unnamed
	Ended           bool       `json:"ended"`
}

type joined struct {
	Sub        string  `json:"sub"`
	JTI        string  `json:"jti"`
	Connection *string `json:"connection"`
}

// maxEntries bounds each list: a session has at most so many seats.
const maxEntries = 1024

func (r *seatsRequest) caller() caller { return caller{r.InstanceID, r.Incarnation} }

// Validate implements rest.Validator.
func (r *seatsRequest) Validate(c *rest.Check) {
	r.caller().checkInstance(c)
	c.Match("session_id", r.SessionID, rest.ID)
	c.Count("joined", len(r.Joined), 0, maxEntries)
	for i, j := range r.Joined {
		// JSON has null where a game server forgot an entry; it must not crash the request.
		if j == nil {
			c.That(false, fmt.Sprintf("joined[%d]", i), "must be an object")
			continue
		}
		at := c.Element("joined", i)
		at.Match("sub", j.Sub, rest.Sub)
		at.Match("jti", j.JTI, tokenID)
		checkConnection(&at, "connection", j.Connection)
	}
	c.Count("left", len(r.Left), 0, maxEntries)
	c.Each("left", r.Left, rest.Sub)
	r.checkLeftConnections(c)
}

func (r *seatsRequest) checkLeftConnections(c *rest.Check) {
	areValid := true
	for i, connection := range r.LeftConnections {
		checkConnection(c, fmt.Sprintf("left_connections[%d]", i), connection)
		areValid = areValid && (connection == nil || rest.ID.Valid(*connection))
	}
	// The number is checked only if the entries are valid, so that one mistake gives one error. Without the list, no
	// connection is named.
	if areValid && r.LeftConnections != nil {
		c.That(len(r.LeftConnections) == len(r.Left), "left_connections", "must have as many entries as left")
	}
}

// checkConnection refuses an empty name: it means "no connection named", so a game server that sends one by mistake
// would lose the protection against replays without noticing.
func checkConnection(c *rest.Check, field string, connection *string) {
	if connection != nil {
		c.Match(field, *connection, rest.ID)
	}
}

func (r *seatsRequest) seatReport() db.SeatReport {
	report := db.SeatReport{
		InstanceRef: r.caller().instanceRef(), SessionID: r.SessionID, JoinedPlayers: make([]db.Joined, len(r.Joined)),
		LeftPlayers: make([]db.Left, len(r.Left)), HasEnded: r.Ended,
	}
	for i, j := range r.Joined {
		report.JoinedPlayers[i] = db.Joined{PlayerSub: j.Sub, JTI: j.JTI, ConnectionName: orEmpty(j.Connection)}
	}
	for i, sub := range r.Left {
		report.LeftPlayers[i].PlayerSub = sub
	}
	for i, connection := range r.LeftConnections {
		report.LeftPlayers[i].ConnectionName = orEmpty(connection)
	}
	return report
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

type seatsAnswer struct {
	SessionID   string       `json:"session_id"`
	Joined      int          `json:"joined"` // entries that are ok
	Left        int          `json:"left"`
	PlayerCount int          `json:"player_count"`
	Closed      bool         `json:"closed"`
	Results     []seatResult `json:"results"` // in the order of the request, entries of joined before those of left
}

type seatResult struct {
	Sub    string        `json:"sub"`
	JTI    string        `json:"jti,omitempty"` // for entries of joined
	Result db.SeatResult `json:"result"`
	Status int           `json:"status"`
}

// statuses maps each result to the HTTP status of the same meaning, for game servers that handle answers by their
// status.
var statuses = map[db.SeatResult]int{
	db.SeatOK:        http.StatusOK,
	db.SeatReplay:    http.StatusConflict,
	db.SeatGone:      http.StatusGone,
	db.SeatUnknown:   http.StatusNotFound,
	db.SeatNotHolder: http.StatusConflict,
}

// reportSeats records who has joined and who has left a session, in this order, and then whether it has ended.
func (f face) reportSeats(ctx context.Context, in rest.In[seatsRequest]) (seatsAnswer, error) {
	if err := in.Body.caller().checkCredential(ctx); err != nil {
		return seatsAnswer{}, err
	}
	// Only ids are logged: whoever reads a handle in the log can take a seat with it.
	if _, id, _ := strings.Cut(in.Body.SessionID, "."); uuid.Validate(id) == nil {
		rest.AddLogAttrs(ctx, slog.String("session_id", in.Body.SessionID))
	}
	// Each entry has its own result, so that one late player does not make the report of all others fail.
	res, err := f.store.ReportSeats(ctx, in.Body.seatReport())
	results := make([]seatResult, len(res.Outcomes))
	for i, o := range res.Outcomes {
		results[i] = seatResult{o.PlayerSub, o.JTI, o.Result, statuses[o.Result]}
	}
	return seatsAnswer{in.Body.SessionID, res.JoinedCount, res.LeftCount, res.PlayerCount, res.IsClosed, results}, err
}
