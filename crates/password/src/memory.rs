//! Memory that memory-hard schemes work in. A thread keeps its own and uses it again: to get 19 MiB from the system and touch them
//! takes as long as a tenth of the hash itself.

use argon2::Block;

/// What a thread keeps between two uses: enough for the values that are written here.
const KEPT_BLOCKS: usize = 32 << 10;

/// Memory of one thread; empty before the first use.
#[derive(Default)]
pub struct Memory {
    blocks: Vec<Block>,
}

impl Memory {
    /// Runs something in so many blocks of 1 KiB. `None` if the system has not so much.
    pub(crate) fn with<T>(&mut self, blocks: usize, work: impl FnOnce(&mut [Block]) -> T) -> Option<T> {
        if self.blocks.len() < blocks {
            self.blocks.try_reserve_exact(blocks - self.blocks.len()).ok()?;
            self.blocks.resize(blocks, Block::new());
        }
        let done = work(&mut self.blocks[..blocks]);
        if self.blocks.len() > KEPT_BLOCKS {
            self.blocks.truncate(KEPT_BLOCKS);
            self.blocks.shrink_to_fit();
        }
        Some(done)
    }
}
