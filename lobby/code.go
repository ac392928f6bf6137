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

// ParseCode returns the code that a player has typed, in any case, with or without its dash. ok is false for a text
// that is no code.
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

// CodeWish is what a member wants of the code of its room.
type CodeWish int

// The wishes.
const (
	CodeRead   CodeWish = iota // the code that the room has, or a new one
	CodeRenew                  // a new one; the old one admits nobody any more
	CodeRemove                 // none
)

// ShareCode returns the action by which a member reads the code of its room, or gives it the code next. Where a room
// has an owner, only the owner changes the code; elsewhere members make one and keep it. The CallerAnswer has the code,
// and the link of the room's type. Errors: [ErrNotMember], [ErrNotOwner], [ErrOfMatch].
func (t *Types) ShareCode(session, next string, wish CodeWish) Action {
	return boundedAction(func(r *Room) error {
		if err := t.mayShare(r, session, wish); err != nil {
			return err
		}
		switch {
		case wish == CodeRemove:
			t.setCode(r, "")
		// Read gives a code to a room without one, so that a client needs one request for its button.
		case wish == CodeRenew || r.JoinCode == "":
			t.setCode(r, next)
		}
		r.CallerAnswer = t.sharedAnswer(r)
		return nil
	})
}

// mayShare decides whether a member may read or change the code.
func (t *Types) mayShare(r *Room, session string, wish CodeWish) error {
	owner, err := t.ownerFor(r, session)
	switch {
	case err != nil:
		return err
	case owner == session:
		return nil
	// The first member that asks makes the code of a room that nobody owns. No other changes it, because friends may
	// have it already.
	case wish == CodeRead && (owner == "" || r.JoinCode != ""):
		return nil
	}
	return ErrNotOwner
}

// setCode changes the code. The members of a room with an owner see it in the state.
func (t *Types) setCode(r *Room, code string) {
	r.JoinCode = code
	switch {
	case !t.hasOwner(r):
	case code == "":
		r.DeleteKey("code")
	default:
		r.SetKey("code", code)
	}
}

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
