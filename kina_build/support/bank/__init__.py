"""The paper's reference bank: well-aligned items of the pool in the place of anchors."""
