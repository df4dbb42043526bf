//! ChaCha20-Poly1305 (RFC 8439). `ring` computes it, which TLS brings along anyway; in browsers,
//! where it cannot be compiled, a library in Rust alone does. Their bytes are the same.

/// Bytes of a nonce.
pub(crate) type Nonce = [u8; 12];

/// Encrypts `data` in place and appends a tag over it and `head`.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn encrypt(key: &[u8; 32], nonce: Nonce, head: &[u8], data: &mut Vec<u8>) {
    use ring_aead::aead::{Aad, Nonce};
    let nonce = Nonce::assume_unique_for_key(nonce);
    cipher(key)
        .seal_in_place_append_tag(nonce, Aad::from(head), data)
        .expect("a seed is far shorter than the cipher's limit");
}

/// Decrypts `data` in place. Returns false if the tag is wrong.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn decrypt(key: &[u8; 32], nonce: Nonce, head: &[u8], data: &mut Vec<u8>) -> bool {
    use ring_aead::aead::{Aad, Nonce};
    let nonce = Nonce::assume_unique_for_key(nonce);
    let opened = cipher(key).open_in_place(nonce, Aad::from(head), data);
    let length = opened.ok().map(|seed| seed.len());
    if let Some(length) = length {
        data.truncate(length);
    }
    length.is_some()
}

#[cfg(not(target_family = "wasm"))]
fn cipher(key: &[u8; 32]) -> ring_aead::aead::LessSafeKey {
    use ring_aead::aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey};
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("a key of 32 bytes"))
}

/// Encrypts `data` in place and appends a tag over it and `head`.
#[cfg(target_family = "wasm")]
pub(crate) fn encrypt(key: &[u8; 32], nonce: Nonce, head: &[u8], data: &mut Vec<u8>) {
    use chacha20poly1305::aead::AeadInOut;
    cipher(key)
        .encrypt_in_place(&nonce.into(), head, data)
        .expect("a seed is far shorter than the cipher's limit");
}

/// Decrypts `data` in place. Returns false if the tag is wrong.
#[cfg(target_family = "wasm")]
pub(crate) fn decrypt(key: &[u8; 32], nonce: Nonce, head: &[u8], data: &mut Vec<u8>) -> bool {
    use chacha20poly1305::aead::AeadInOut;
    cipher(key)
        .decrypt_in_place(&nonce.into(), head, data)
        .is_ok()
}

#[cfg(target_family = "wasm")]
fn cipher(key: &[u8; 32]) -> chacha20poly1305::ChaCha20Poly1305 {
    use chacha20poly1305::KeyInit;
    chacha20poly1305::ChaCha20Poly1305::new(key.into())
}
