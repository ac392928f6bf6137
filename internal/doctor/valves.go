package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

const (
	// closedFor is how long players may wait at a closed valve before it is a finding: longer than an operator takes to
	// look for the fault that closed it.
	closedFor = 15 * time.Minute
	// standsFor is how long the first of a line may wait while its valve has room.
	standsFor = 30 * time.Second
)

func (d Doctor) checkValves(ctx context.Context) (Finding, error) {
	all, err := opsview.Valves.Read(ctx, d.Store.Pool(), opsview.ValveFilter{}, opsview.Page{})
	if err != nil {
		return Finding{}, err
	}
	now, err := d.Store.DatabaseNow(ctx)
	return judgeValves(all, now), err
}

// judgeValves returns the Finding of the first valve in the worst state.
func judgeValves(all []opsview.Valve, now time.Time) Finding {
	return worstOf(all, goodFinding("there are none"), func(v opsview.Valve) Finding { return judgeValve(v, now) })
}

func judgeValve(v opsview.Valve, now time.Time) Finding {
	says := fmt.Sprintf("%s is %s%s: %d players are in, %d wait", v.Name, v.Mode, reasonPhrase(v.Reason), v.Players,
		v.Waiting)
	stands := v.FirstSince != nil && now.Sub(*v.FirstSince) > standsFor
	// At less than a twentieth of its rate, a valve admits nobody. A rate of less than one player within standsFor is
	// slow, and no fault.
	isStill := stands && v.RateNow < v.Rate/20 && v.Rate*standsFor.Seconds() > 1
	isFull := v.MaxPlayers != nil && float64(v.Players)+1 > float64(*v.MaxPlayers)*(1-v.StaffShare)
	switch {
	case v.Mode != "open" && v.Waiting >= v.MaxWaiting:
		return failureFinding(fmt.Sprintf("players are refused: raise the rate or the line: director valves set %s "+
			"--rate … --max-waiting …", v.Name), "%s, as many as the line holds", says)
	case v.Mode == "limited" && isStill && !isFull:
		return failureFinding("see whether a worker runs: director doctor, director valves list",
			"%s; the valve has room, and admits nobody", says)
	case v.Mode == "closed" && v.Waiting > 0 && now.Sub(v.SetAt) > closedFor:
		return warningFinding(fmt.Sprintf("director valves set %s limits again, director valves open %s lets "+
			"everybody in",
			v.Name, v.Name),
			"%s, for %s", says, now.Sub(v.SetAt).Round(time.Minute))
	}
	return goodFinding("%s", says)
}
