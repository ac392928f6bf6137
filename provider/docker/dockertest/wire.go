package dockertest

import "fmt"

type object = map[string]any

func message(text string, values ...any) object {
	return object{"message": fmt.Sprintf(text, values...)}
}
