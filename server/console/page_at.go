package console

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/instant"
)

// pastView is what templates/at.html reads.
type pastView struct {
	Time     string // as it was entered; empty: nothing is asked for
	What     string // one of Kinds
	Moment   time.Time
	Refused  string // why nothing is shown
	Fleet    []db.InstanceAt
	Sessions []db.SessionAt
	Seats    []db.SeatAt
	Keys     []db.KeyAt
	HasMore  bool                 // more than maxPast rows: director at has all
	Starts   map[string]time.Time // how far back history reaches, by kind
	Regions  []string             // for the filter
}

// maxPast bounds the rows that are shown.
const maxPast = 500

// Kinds are the kinds of rows that can be asked for.
func (pastView) Kinds() []string { return []string{"fleet", "sessions", "seats", "keys"} }

// Rows returns how many rows are shown.
func (v pastView) Rows() int { return len(v.Fleet) + len(v.Sessions) + len(v.Seats) + len(v.Keys) }

// pastPage shows what was true at a time, from history.
var pastPage = page[pastView]{routePath: "/at", templateName: "at", readEvery: time.Minute, loadData: loadPast}

// loadPast reads what was true at the time of the query. A time that is malformed, or before history begins, is no
// error but a sentence of the page, beside the form in which it can be mended.
func loadPast(ctx context.Context, s Store, q query) (v pastView, err error) {
	v.Time, v.What = q.Get("time"), q.Get("what")
	if !slices.Contains(v.Kinds(), v.What) {
		v.What = "fleet"
	}
	// How far back the page can look is shown also where nothing is asked for yet.
	if v.Starts, err = s.HistoryStarts(ctx); err != nil {
		return v, err
	}
	if v.Regions, err = regionNames(ctx, s); err != nil || v.Time == "" {
		return v, err
	}
	if v.Moment, v.Refused = parsePast(v.Time); v.Refused != "" {
		return v, nil
	}
	// One row more than is shown, to say whether there are more.
	v, err = v.withRows(ctx, s, db.AsOf{Moment: v.Moment, Region: q.Get("region"), Limit: maxPast + 1})
	if refused, ok := errors.AsType[*fault.Error](err); ok && refused.Kind == fault.Invalid {
		v.Refused = refused.Detail
		return v, nil
	}
	return v, err
}

// parsePast returns a time in UTC, or why a text is none.
func parsePast(text string) (moment time.Time, refused string) {
	moment, err := instant.Parse(text, time.Now())
	if err != nil {
		return moment, err.Error()
	}
	return moment.UTC(), ""
}

// withRows adds the rows of the kind that the view asks for.
func (v pastView) withRows(ctx context.Context, s Store, a db.AsOf) (_ pastView, err error) {
	switch v.What {
	case "sessions":
		v.Sessions, err = s.SessionsAt(ctx, a)
	case "seats":
		v.Seats, err = s.SeatsAt(ctx, a)
	case "keys":
		v.Keys, err = s.KeysAt(ctx, a)
	default:
		v.Fleet, err = s.FleetAt(ctx, a)
	}
	if err != nil {
		return v, err
	}
	v.HasMore = v.Rows() > maxPast
	v.Fleet, v.Sessions = v.Fleet[:min(len(v.Fleet), maxPast)], v.Sessions[:min(len(v.Sessions), maxPast)]
	v.Seats, v.Keys = v.Seats[:min(len(v.Seats), maxPast)], v.Keys[:min(len(v.Keys), maxPast)]
	return v, nil
}
