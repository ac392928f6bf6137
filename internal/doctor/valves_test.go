package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
)

func TestJudgeValves(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	most := int32(100)
	fine := opsview.Valve{Name: "a", Mode: "limited", Rate: 50, RateNow: 49, MaxWaiting: 1000, Waiting: 900, Players: 7,
		FirstSince: ago(time.Hour)}
	change := func(f func(*opsview.Valve)) opsview.Valve {
		v := fine
		f(&v)
		return v
	}
	for name, c := range map[string]struct {
		valve       opsview.Valve
		state, says string
	}{
		"it limits": {fine, OK, "a is limited: 7 players are in, 900 wait"},
		"the line is full": {change(func(v *opsview.Valve) { v.Waiting = 1000 }), Fail,
			"1000 wait, as many as the line holds"},
		"nobody admits": {change(func(v *opsview.Valve) { v.RateNow = 0 }), Fail,
			"the valve has room, and admits nobody"},
		"the title is full": {change(func(v *opsview.Valve) { v.RateNow, v.Players, v.MaxPlayers = 0, 100, &most }), OK,
			""},
		"it is slow": {change(func(v *opsview.Valve) { v.RateNow, v.Rate = 0, 0.01 }), OK, ""},
		"somebody looks into it": {change(func(v *opsview.Valve) { v.Mode, v.SetAt = "closed", *ago(time.Minute) }), OK,
			""},
		"it was forgotten": {change(func(v *opsview.Valve) { v.Mode, v.SetAt, v.Reason = "closed", *ago(time.Hour), "the login" }), Warn, "a is closed: the login: 7 players are in, 900 wait, for 1h0m0s"},
		"it is open":       {change(func(v *opsview.Valve) { v.Mode, v.Waiting = "open", 1000 }), OK, ""},
	} {
		found := judgeValve(c.valve, now)
		require.Equal(t, c.state, found.State, name)
		require.Contains(t, found.Says, c.says, name)
		require.Equal(t, c.state == OK, found.Do == "", name)
	}
	require.Equal(t, Fail, judgeValves([]opsview.Valve{fine, change(func(v *opsview.Valve) { v.RateNow = 0 })},
		now).State)
	require.Equal(t, OK, judgeValves(nil, now).State)
}
