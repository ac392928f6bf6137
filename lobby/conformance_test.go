package lobby

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheCounterPluginCounts(t *testing.T) {
	t.Parallel()
	h := setup(t, "counter_plugin_room")
	h.mustJoin("s1")
	for _, step := range []struct{ kind, data, news, counter string }{
		{"inc", `{"by":3}`, `{"by":3,"counter":3}`, "3"},
		{"inc", `{}`, `{"by":1,"counter":4}`, "4"},
		{"inc", `{"by":-2.0}`, `{"by":-2,"counter":2}`, "2"},
		{"inc", `{"by":"3"}`, `{"by":1,"counter":3}`, "3"},
		{"inc", `{"by":0.5}`, `{"by":1,"counter":4}`, "4"},
		{"inc", `7`, `{"by":1,"counter":5}`, "5"},
		{"other", `{"by":3}`, `{"by":0,"counter":5}`, "5"},
		{"inc", `{"by":1e300}`, `{"by":9007199254740991,"counter":9007199254740991}`, "9007199254740991"},
		{"inc", `{"by":-1e300}`, `{"by":-9007199254740991,"counter":0}`, "0"},
	} {
		h.news()
		h.mustSend("s1", step.kind, step.data)
		entries, _ := h.news()
		require.JSONEq(t, `[{"k":"message","t":"counter.updated","d":`+step.news+`}]`, entries)
		require.Equal(t, step.counter, h.value("counter"))
	}
}

func TestRoomsWithoutAPluginRefuseMessages(t *testing.T) {
	t.Parallel()
	for typ, state := range map[string]string{"echo_room": `{}`, "counter_room": `{"counter":0}`} {
		h := setup(t, typ)
		h.mustJoin("s1")
		require.Equal(t, state, h.state())
		require.ErrorIs(t, h.send("s1", "inc", `{}`), ErrNoLogic)
		require.Zero(t, h.room.GracePeriod)
	}
}

func TestConformanceTypesNeedASwitch(t *testing.T) {
	t.Parallel()
	types, err := NewTypes(false, nil)
	require.NoError(t, err)
	_, ok := types.LookupType("echo_room")
	require.False(t, ok)
	_, ok = types.LookupType("party")
	require.True(t, ok)
}

func TestAChatHasItsTopicAndRelays(t *testing.T) {
	t.Parallel()
	h := setup(t, "town")
	require.NoError(t, h.join("s1", "topic", `"rules"`))
	require.JSONEq(t, `{"topic":"rules","__proto__":{"a":1}}`, h.state())
	h.news()
	h.mustSend("s1", "say", `"hello"`)
	entries, _ := h.news()
	require.JSONEq(t, `[{"k":"message","s":"s1","t":"say","d":"hello"}]`, entries)
	other := setup(t, "town")
	other.mustJoin("s1")
	require.JSONEq(t, `{"__proto__":{"a":1},"topic":"news"}`, other.state(), "the next room does not see the topic of this one")
}
