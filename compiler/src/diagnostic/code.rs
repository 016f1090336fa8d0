//! The names of all findings. Each has a page in `explain/` and a test in `tests/suite/reject/`; a test compares the
//! three. Names are never reused for another meaning.

macro_rules! codes {
    ($($variant:ident $name:literal,)*) => {
        /// The name of a kind of finding.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant,
            )*
        }

        impl Code {
            /// All of them, in the order in which a compilation looks.
            pub const ALL: &[Code] = &[$(Code::$variant,)*];

            /// Its name, as people and tools see it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// Its page: what it means, why it is refused, what to do.
            #[must_use]
            pub fn page(self) -> &'static str {
                match self { $(Code::$variant => include_str!(concat!("../../explain/", $name, ".md")),)* }
            }
        }
    };
}

codes! {
    // Reading a document.
    UnreadableFile "unreadable-file",
    YamlSyntax "yaml-syntax",
    YamlFeature "yaml-feature",
    OverLimit "over-limit",
    DuplicateKey "duplicate-key",
    // Its shape.
    UnknownKey "unknown-key",
    MissingKey "missing-key",
    WrongType "wrong-type",
    BadValue "bad-value",
    BadName "bad-name",
    BadDuration "bad-duration",
    BadQuantity "bad-quantity",
    BadSelector "bad-selector",
    BadTemplate "bad-template",
    BadSecretRef "bad-secret-ref",
    TrafficInDescriptor "traffic-in-descriptor",
    // Names and what they stand for.
    AppMismatch "app-mismatch",
    BadRelease "bad-release",
    DuplicateName "duplicate-name",
    DuplicateSecret "duplicate-secret",
    UndeclaredSecret "undeclared-secret",
    DuplicateTarget "duplicate-target",
    DuplicateMember "duplicate-member",
    UnknownLabel "unknown-label",
    UnknownVariable "unknown-variable",
    MissingPort "missing-port",
    DoubledBraces "doubled-braces",
    // The pool.
    UnknownProvider "unknown-provider",
    UnknownSetting "unknown-setting",
    MissingSetting "missing-setting",
    BadSetting "bad-setting",
    PlainHttp "plain-http",
    PollTooLong "poll-too-long",
    MinHealthyUnchecked "min-healthy-unchecked",
    NoDrainDelay "no-drain-delay",
    DrainCutsConnections "drain-cuts-connections",
    PostTestMissing "post-test-missing",
    // Waves and batches.
    PoolWithoutWaves "pool-without-waves",
    WaveSelectsNothing "wave-selects-nothing",
    TargetInNoWave "target-in-no-wave",
    TargetInTwoWaves "target-in-two-waves",
    ApprovalOnLastWave "approval-on-last-wave",
    MaxUnavailableRounded "max-unavailable-rounded",
    FloorUnreachable "floor-unreachable",
    // What runs on a target.
    UnknownRecipe "unknown-recipe",
    BadRecipe "bad-recipe",
    UnknownParameter "unknown-parameter",
    MissingParameter "missing-parameter",
    BadParameter "bad-parameter",
    ArtifactMissing "artifact-missing",
    StepWithoutUndo "step-without-undo",
    // Our own mistakes.
    BrokenPlan "broken-plan",
}

impl Code {
    /// The code of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name() == name)
    }
}
