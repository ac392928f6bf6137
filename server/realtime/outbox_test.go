package realtime

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/server/realtime/delivery"
)

func parcelOf(class delivery.PushClass, room string, bytes int) parcel {
	return parcel{pushClass: class, roomID: room, byteCount: bytes, frames: [][]byte{make([]byte, bytes)}}
}

func TestAFullOutboxDropsPatchesAndAsksForASnapshotOnce(t *testing.T) {
	t.Parallel()
	var o outbox
	for range maxParcels - 1 {
		_, ok := o.putParcel(parcelOf(delivery.PushPatch, "a", 10))
		require.True(t, ok)
	}
	_, ok := o.putParcel(parcelOf(delivery.PushEvent, "a", 10))
	require.True(t, ok)

	dropped, ok := o.putParcel(parcelOf(delivery.PushAnswer, "", 10))
	require.True(t, ok)
	require.Equal(t, maxParcels-1, dropped)
	require.Len(t, o.queue, 2, "the event and the answer stay")
	require.Equal(t, []string{"a"}, o.takeStarving())
	require.Empty(t, o.takeStarving(), "once")

	dropped, ok = o.putParcel(parcelOf(delivery.PushPatch, "a", 10))
	require.True(t, ok)
	require.Equal(t, 1, dropped, "a patch on top of dropped ones is useless")
	_, _ = o.putParcel(parcelOf(delivery.PushSnapshot, "a", 10))
	dropped, _ = o.putParcel(parcelOf(delivery.PushPatch, "a", 10))
	require.Zero(t, dropped)
	require.Len(t, o.queue, 4)
}

func TestTheLargestRoomLosesItsPatchesFirst(t *testing.T) {
	t.Parallel()
	var o outbox
	_, _ = o.putParcel(parcelOf(delivery.PushPatch, "small", 10))
	_, _ = o.putParcel(parcelOf(delivery.PushPatch, "large", maxOutboxBytes-100))
	_, ok := o.putParcel(parcelOf(delivery.PushEvent, "", 1000))
	require.True(t, ok)
	require.Equal(t, []string{"large"}, o.takeStarving())
	p, _ := o.takeOldest()
	require.Equal(t, "small", p.roomID)
}

func TestAnOutboxFullOfAnswersIsFatal(t *testing.T) {
	t.Parallel()
	var o outbox
	for range maxParcels {
		_, ok := o.putParcel(parcelOf(delivery.PushAnswer, "", 10))
		require.True(t, ok)
	}
	_, ok := o.putParcel(parcelOf(delivery.PushEvent, "", 10))
	require.False(t, ok)
	dropped, ok := o.putParcel(parcelOf(delivery.PushPatch, "a", 10))
	require.True(t, ok)
	require.Equal(t, 1, dropped)
	require.Empty(t, o.takeStarving(), "there is no space for a snapshot yet")
	for len(o.queue) > maxParcels/2 {
		_, _ = o.takeOldest()
	}
	require.Equal(t, []string{"a"}, o.takeStarving())
}

// Whatever is pushed and written: the outbox stays within its bounds, keeps order, loses only patches and snapshots,
// and a room that lost some is reported before anything of it is sent, except by a snapshot.
func TestOutboxProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var o outbox
		rooms := rapid.SampledFrom([]string{"a", "b", "c"})
		classes := rapid.SampledFrom([]delivery.PushClass{delivery.PushAnswer, delivery.PushEvent, delivery.PushPatch,
			delivery.PushSnapshot})
		sizes := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(1000, 300_000))
		lasting, expected := 0, 0
		broken := map[string]bool{} // rooms whose next frame of state must be a snapshot
		next := 0
		order := -1
		for range rapid.IntRange(1, 600).Draw(t, "steps") {
			if rapid.IntRange(0, 3).Draw(t, "take") == 0 {
				p, ok := o.takeOldest()
				if !ok {
					continue
				}
				number, err := strconv.Atoi(string(p.frames[0]))
				require.NoError(t, err)
				require.Greater(t, number, order)
				order = number
				if !p.isDroppable() {
					lasting++
				}
				continue
			}
			p := parcel{pushClass: classes.Draw(t, "class"), roomID: rooms.Draw(t, "room"),
				byteCount: sizes.Draw(t, "bytes"), frames: [][]byte{[]byte(strconv.Itoa(next))}}
			next++
			_, ok := o.putParcel(p)
			if !ok {
				require.False(t, p.isDroppable())
				return // the connection is closed
			}
			if !p.isDroppable() {
				expected++
			}
			for room := range o.starvingRooms {
				broken[room] = true
			}
			for room := range broken {
				if _, starving := o.starvingRooms[room]; !starving {
					delete(broken, room)
				}
			}
			for _, queued := range o.queue {
				require.False(t, queued.isDroppable() && broken[queued.roomID], "a patch of a room without its base")
			}
			require.LessOrEqual(t, len(o.queue), maxParcels)
			require.True(t, o.queuedBytes <= maxOutboxBytes || len(o.queue) == 1)
		}
		for {
			p, ok := o.takeOldest()
			if !ok {
				break
			}
			if !p.isDroppable() {
				lasting++
			}
		}
		require.Equal(t, expected, lasting)
		require.Zero(t, o.queuedBytes)
	})
}
