package main

// renewing are the flags of points for renewals by programs.
type renewing struct {
	AllowEmpty bool `env:"QUADRILLE_POINTS_ALLOW_EMPTY" help:"Take files without points too: the collection is then empty. Without it they are refused."`
	Replace    bool `env:"-" help:"With --into-live: remove the points of the collection that the files lack, after all others have been written. Nothing is written if a record of the files is left out, or more than --max-change would be removed."`
}
