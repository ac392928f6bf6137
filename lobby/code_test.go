package lobby

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Players type codes as they please; what they type is the code, and nothing else is.
func TestCodesAreReadAsTheyAreTyped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		code := CodeOf(rapid.Uint64().Draw(rt, "random"))
		require.Len(rt, code, codeLength+1)
		require.NotContains(rt, strings.TrimLeft(code, codeLetters), " ")
		require.False(rt, strings.ContainsAny(code, "01258ILOU"))
		for _, typed := range []string{code, strings.ToLower(code), strings.ReplaceAll(code, "-", ""),
			" " + strings.ReplaceAll(code, "-", " - ")} {
			read, ok := ParseCode(typed)
			require.True(rt, ok, typed)
			require.Equal(rt, code, read)
		}
	})
	for _, typed := range []string{"", "KX7-4Z", "KX7-4ZMM", "KX7-4Z!", "KX7-4Zé", strings.Repeat("-", 100)} {
		_, ok := ParseCode(typed)
		require.False(t, ok, typed)
	}
	read, _ := ParseCode("kx5-2bm")
	require.Equal(t, "KXS-ZBM", read, "letters that no code has are what they look like")
}

func TestCodesAreSpread(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range uint64(10_000) {
		seen[CodeOf(i*0x9E3779B97F4A7C15)] = true
	}
	require.Len(t, seen, 10_000)
}

func TestTheOwnerSharesTheCode(t *testing.T) {
	t.Parallel()
	h := setup(t, "party")
	h.mustJoin("s1", "s2")
	requireCode(t, "refused", h.do(h.ShareCode("s2", "KX7-4ZM", CodeRead)))
	requireCode(t, "not_a_member", h.do(h.ShareCode("s3", "KX7-4ZM", CodeRead)))
	h.must(h.ShareCode("s1", "KX7-4ZM", CodeRead))
	require.Equal(t, map[string]any{"code": "KX7-4ZM"}, h.room.CallerAnswer)
	require.JSONEq(t, `"KX7-4ZM"`, h.value("code"))
	h.must(h.ShareCode("s2", "AAA-AAA", CodeRead))
	require.Equal(t, map[string]any{"code": "KX7-4ZM"}, h.room.CallerAnswer, "a member reads the code that there is")
	requireCode(t, "refused", h.do(h.ShareCode("s2", "AAA-AAA", CodeRenew)))

	join := Join{RoomType: "party", Session: "s3", Player: "cy", RoomCode: "KX7-4ZM"}
	requireCode(t, "not_invited", h.join("s3"))
	h.must(h.ShareCode("s1", "AAA-AAA", CodeRenew))
	requireCode(t, "code_unknown", h.do(h.JoinRoom(join)))
	join.RoomCode = "AAA-AAA"
	h.must(h.JoinRoom(join))
	h.must(h.ShareCode("s1", "BBB-BBB", CodeRemove))
	require.Empty(t, h.room.CallerAnswer)
	require.Empty(t, h.value("code"))
}

func TestARoomWithoutOwnerKeepsItsCode(t *testing.T) {
	t.Parallel()
	types, err := NewTypes(false, []byte(`{"den":{"logic":"chat","private":true,"link":"https://game.example/join/{code}"}}`))
	require.NoError(t, err)
	h := &house{Types: types, t: t, typ: "den", room: &Room{ID: "den:1", IsNew: true}}
	h.mustJoin("s1", "s2")
	h.must(h.ShareCode("s2", "KX7-4ZM", CodeRead))
	require.Equal(t, map[string]any{"code": "KX7-4ZM", "link": "https://game.example/join/KX7-4ZM"},
		h.room.CallerAnswer)
	require.Empty(t, h.value("code"), "the state of a chat is its clients' alone")
	requireCode(t, "refused", h.do(h.ShareCode("s1", "AAA-AAA", CodeRenew)))
	requireCode(t, "refused", h.do(h.ShareCode("s1", "", CodeRemove)))
	h.must(h.ShareCode("s1", "AAA-AAA", CodeRead))
	require.Equal(t, "KX7-4ZM", h.room.JoinCode)
}

// FuzzParseCode is what strangers type.
func FuzzParseCode(f *testing.F) {
	f.Add("KX7-4ZM")
	f.Add("\xff\u212a")
	f.Fuzz(func(t *testing.T, typed string) {
		code, ok := ParseCode(typed)
		if again, okAgain := ParseCode(code); ok && (!okAgain || again != code) {
			t.Errorf("%q is read as %q", code, again)
		}
	})
}
