package main

import "slices"

// recipes are all messages of ours.
func recipes() []recipe {
	return slices.Concat(
		limits(), fields(), froms(), repeats(), addresses(), claims(), automatics(),
		signers(), syntaxes(), bounds(), forgeries(), times(), recipients(), keyMessages(), replays(),
		compositions(), chains(), appends(), smuggled(), hidden(), parts(), encodings(), coverages(),
		hosts(), tongues(), subjects(), sizes(),
	)
}
