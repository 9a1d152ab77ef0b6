# cargo knows what is out of date.
.PHONY: $(phplibdir)/ratelimit.so
$(phplibdir)/ratelimit.so:
	PHP=$(PHP_EXECUTABLE) PHP_CONFIG=$(PHP_CONFIG) $(CARGO) build --release --locked --target-dir $(CARGO_TARGET_DIR) \
		--manifest-path $(srcdir)/Cargo.toml
	mkdir -p $(phplibdir)
	cp $(CARGO_TARGET_DIR)/release/libratelimit.so $@
