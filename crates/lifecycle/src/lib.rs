//! What the commands of Slipway mean.
