package lobby

import "strings"

const (
	// codeLetters has no two letters that are read or heard alike: no 0, 1, 2, 5, 8, I, L, O, U.
	codeLetters = "34679ABCDEFGHJKMNPQRSTVWXYZ"
	// codeLength makes 387 million codes: an address that tries 30 a minute hits one of 1,000 rooms in 9 days.
	codeLength = 6
)

// typedLetters are what players type for letters that a code does not have.
var typedLetters = strings.NewReplacer("0", "Q", "O", "Q", "2", "Z", "5", "S", "8", "B", "U", "V", "-", "", " ", "")

// CodeOf returns the code of a random number, such as "KX7-4ZM".
func CodeOf(random uint64) string {
	code := make([]byte, 0, codeLength+1)
	// 64 bits are so many more than six letters need that all codes are about equally likely.
	for i := range codeLength {
		if i == codeLength/2 {
			code = append(code, '-')
		}
		code = append(code, codeLetters[random%uint64(len(codeLetters))])
		random /= uint64(len(codeLetters))
	}
	return string(code)
}

// ParseCode returns the code that a player has typed, in any case, with or without the dash. ok is false if the text is
// no code.
func ParseCode(typed string) (code string, ok bool) {
	// Before the text is copied: it may be as long as a frame.
	if len(typed) > 4*codeLength {
		return "", false
	}
	letters := typedLetters.Replace(strings.ToUpper(typed))
	if len(letters) != codeLength || strings.Trim(letters, codeLetters) != "" {
		return "", false
	}
	return letters[:codeLength/2] + "-" + letters[codeLength/2:], true
}

// CodeRequest is what a member asks for concerning the code of its room.
type CodeRequest int

// The requests.
const (
	CodeRead   CodeRequest = iota // the code that the room has, or a new one
	CodeRenew                     // a new one; the old one admits nobody any more
	CodeRemove                    // none
)

// ShareCode returns the action by which a member reads the code of its room, or replaces it by newCode. Where a room
// has an owner, only the owner changes the code; elsewhere the first member that asks makes one, which stays. The
// CallerAnswer has the code, and the link of the room's type. Errors: [ErrNotMember], [ErrNotOwner], [ErrOfMatch].
func (t *Types) ShareCode(session, newCode string, request CodeRequest) Action {
	return boundedAction(func(r *Room) error {
		if err := t.checkShare(r, session, request); err != nil {
			return err
		}
		switch {
		case request == CodeRemove:
			t.setCode(r, "")
		// CodeRead makes the code of a room without one, so that a client needs one request for its button.
		case request == CodeRenew || r.JoinCode == "":
			t.setCode(r, newCode)
		}
		r.CallerAnswer = t.sharedAnswer(r)
		return nil
	})
}

// checkShare decides whether a member may read or change the code.
func (t *Types) checkShare(r *Room, session string, request CodeRequest) error {
	owner, err := t.ownerFor(r, session)
	if err != nil {
		return err
	}
	if owner == session {
		return nil
	}
	// The first member that asks makes the code of a room that nobody owns. No other changes it, because friends may
	// have it already.
	if request == CodeRead && (owner == "" || r.JoinCode != "") {
		return nil
	}
	return ErrNotOwner
}

// setCode changes the code. The members of a room with an owner see it in the state.
func (t *Types) setCode(r *Room, code string) {
	r.JoinCode = code
	if code == "" {
		t.hideDetail(r, "code")
	} else {
		t.showDetail(r, "code", code)
	}
}

// sharedAnswer returns the code of a room, and the link of its type with the code; empty for a room without a code.
func (t *Types) sharedAnswer(r *Room) map[string]any {
	answer := map[string]any{}
	if r.JoinCode == "" {
		return answer
	}
	answer["code"] = r.JoinCode
	if typ, _ := t.typeOf(r); typ.LinkFormat != "" {
		answer["link"] = strings.ReplaceAll(typ.LinkFormat, linkCode, r.JoinCode)
	}
	return answer
}
