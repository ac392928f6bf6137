package estimate

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func seconds64(s float64) time.Time { return time.Unix(0, int64(s*1e9)) }

func TestAnEstimateNeedsTwentyWaits(t *testing.T) {
	t.Parallel()
	var e Estimator
	e.End(seconds64(1), seconds64(0), 0)
	require.Empty(t, e.Publish(seconds64(1), 0), "nothing was said when it began")
	for i := range LeastWaits - 1 {
		e.End(seconds64(3+float64(i)), seconds64(2), 0)
	}
	require.Empty(t, e.Publish(seconds64(30), 0))
	require.Equal(t, CalibrationCounts{}, e.TakeCalibration(), "none of them had an estimate")
	e.End(seconds64(31), seconds64(2), 0)
	groups := e.Publish(seconds64(31), 0)
	require.Len(t, groups, 1)
	require.Equal(t, LeastWaits, groups[0].WaitCount)
	require.LessOrEqual(t, groups[0].P50, groups[0].P90)
	e.End(seconds64(32), seconds64(31.5), 0)
	require.Equal(t, CalibrationCounts{1, 1, 1}, e.TakeCalibration())
	require.Equal(t, CalibrationCounts{}, e.TakeCalibration())
	require.Empty(t, e.Publish(seconds64(31+keptFor.Seconds()+1), 0), "what is old is forgotten")
}

func TestALongerQueueWaitsForLongerAtOnce(t *testing.T) {
	t.Parallel()
	var e Estimator
	for s := range 300 {
		e.Publish(seconds64(float64(s)), 10)
		e.End(seconds64(float64(s)), seconds64(float64(s-10)), 0)
	}
	before := e.Publish(seconds64(300), 10)[0]
	after := e.Publish(seconds64(301), 1000)[0]
	require.InDelta(t, 10, before.P50.Seconds(), 1)
	require.InDelta(t, 1008.0/18, float64(after.P50)/float64(before.P50), 2)
}

func TestTicketsWithRareNumbersWaitForLonger(t *testing.T) {
	t.Parallel()
	var e Estimator
	for s := range 1000 {
		e.Publish(seconds64(float64(s)), 10)
		rank := float64(s % 20)
		e.End(seconds64(float64(s)), seconds64(float64(s)-1-rank), rank)
	}
	groups := e.Publish(seconds64(1000), 10)
	require.Len(t, groups, maxGroups)
	require.Less(t, 3*groups[0].P50, groups[maxGroups-1].P50)
	last, known := groupOf(groups, 1e9)
	require.True(t, known)
	require.Equal(t, groups[maxGroups-1], last, "above all")
}

// Memory is bounded, and the longest waits are compared as well.
func TestTheHistoryIsBounded(t *testing.T) {
	t.Parallel()
	var e Estimator
	for s := range 6 * 3600 {
		e.Publish(seconds64(float64(s)), s%7919)
		if s%10 == 0 {
			e.End(seconds64(float64(s)), seconds64(float64(s-s%977)), 0)
		}
	}
	require.Less(t, len(e.history.points), 700)
	said, known := e.history.pointAt(seconds64(5.5 * 3600))
	require.True(t, known)
	require.Less(t, math.Abs(said.saidAt.Sub(seconds64(5.5*3600)).Seconds()), 61.0)
	said, known = e.history.pointAt(seconds64(0))
	require.True(t, known)
	require.Greater(t, said.saidAt.Sub(seconds64(2.9*3600)).Seconds(), 0.0, "three hours are kept")
	for s := range 10 * keptWaits {
		e.End(seconds64(6*3600), seconds64(6*3600-float64(s)), 0)
	}
	require.Less(t, len(e.compared.endedWaits), 2*keptWaits)
}
