package lobby

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func (h *house) update(session, change string) error {
	var request map[string]json.RawMessage
	require.NoError(h.t, json.Unmarshal([]byte(change), &request))
	c, err := ParseChange(request)
	if err != nil {
		return err
	}
	return h.do(h.UpdateRoom(session, c))
}

func TestTheOwnerChangesTheRoom(t *testing.T) {
	t.Parallel()
	h := setup(t, "lobby")
	require.NoError(t, h.join("s1", "metadata", `{"map":"dust"}`))
	h.mustJoin("s2")
	require.JSONEq(t, `{"map":"dust"}`, h.value("metadata"))
	requireCode(t, "refused", h.update("s2", `{"private":true}`))
	requireCode(t, "not_a_member", h.update("s3", `{"private":true}`))
	require.NoError(t, h.update("s1", `{"private":true,"maxMembers":2,"locked":false,"metadata":{"map":"nuke","n":1e2}}`))
	require.True(t, h.room.IsPrivate)
	require.Equal(t, 2, h.room.MaxMembers)
	require.JSONEq(t, `{"map":"nuke","n":100}`, string(h.room.Metadata))
	require.NotContains(t, string(h.room.Metadata), "1e2", "numbers are written one way")
	require.Equal(t, "true", h.value("private"))
	require.Equal(t, "2", h.value("max_members"))
	require.Equal(t, "false", h.value("locked"))
	require.NoError(t, h.update("s1", `{"metadata":{}}`))
	require.Empty(t, h.value("metadata"))
	require.Nil(t, h.room.Metadata)
	require.NoError(t, h.update("s1", `{"metadata":null}`), "null is absent")
	for change, field := range map[string]string{
		`{"max_members":1}`: "max_members", `{"max_members":17}`: "max_members", `{"max_members":0}`: "max_members", `{"max_members":"4"}`: "max_members",
		`{"private":1}`: "private", `{"locked":"x"}`: "locked", `{"metadata":[]}`: "metadata", `{"metadata":{"a":[]}}`: "metadata",
		`{"metadata":{"a b":1}}`: "metadata", `{"metadata":{"a":1e400}}`: "metadata", `{"metadata":{"a":"\u0000"}}`: "metadata", `{"metadata":{"a":"` + strings.Repeat("x", 257) + `"}}`: "metadata",
	} {
		err := h.update("s1", change)
		requireCode(t, "invalid", err)
		require.Equal(t, field, fieldOf(t, err), change)
	}
}

// fieldOf returns the field that an error names.
func fieldOf(t *testing.T, err error) string {
	t.Helper()
	var refused *Error
	require.ErrorAs(t, err, &refused)
	return refused.Field
}

func TestMetadataHasBounds(t *testing.T) {
	t.Parallel()
	values := map[string]any{}
	for key := range strings.SplitSeq("abcdefghijklmnop", "") {
		values[key] = strings.Repeat("x", 256)
	}
	_, err := ParseMetadata("metadata", encodeJSON(values))
	requireCode(t, "invalid", err)
	require.ErrorContains(t, err, "2048 bytes")
	values = map[string]any{}
	for key := range strings.SplitSeq("abcdefghijklmnopq", "") {
		values[key] = 1
	}
	_, err = ParseMetadata("metadata", encodeJSON(values))
	require.ErrorContains(t, err, "16 keys")
}

// A room of a match and a chat are nobody's to change.
func TestOnlyRoomsWithOwnersAreChanged(t *testing.T) {
	t.Parallel()
	h := setup(t, "match")
	require.NoError(t, h.join("s1"))
	requireCode(t, "refused", h.update("s1", `{"private":false}`))
	requireCode(t, "refused", h.do(h.ShareCode("s1", "KX7-4ZM", CodeRead)))
	h = setup(t, "chat")
	require.NoError(t, h.join("s1", "metadata", `{"language":"de"}`))
	require.JSONEq(t, `{"language":"de"}`, string(h.room.Metadata))
	require.Equal(t, `{}`, h.state(), "the state of a chat is its clients' alone")
	requireCode(t, "refused", h.update("s1", `{"private":true}`))
}

// FuzzParseChange is what strangers send.
func FuzzParseChange(f *testing.F) {
	f.Add([]byte(`{"private":true,"max_members":3,"metadata":{"__proto__":"\ud800"}}`))
	f.Fuzz(func(t *testing.T, request []byte) {
		var values map[string]json.RawMessage
		if json.Unmarshal(request, &values) != nil {
			return
		}
		c, err := ParseChange(values)
		if err != nil {
			requireCode(t, "invalid", err)
			return
		}
		w := walk{house: *setup(t, "lobby"), seen: map[string]bool{}}
		w.step(w.JoinRoom(Join{RoomType: "lobby", Session: "s1", Player: "ada"}))
		w.step(w.UpdateRoom("s1", c))
		require.LessOrEqual(t, len(w.room.Metadata), maxMetadata)
	})
}
