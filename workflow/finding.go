package workflow

// Finding is what was found when something that was asked for was checked.
type Finding struct {
	OK  bool   `json:"ok"`
	Why string `json:"why,omitempty"` // what is wrong with it, such as "does not exist"
}
