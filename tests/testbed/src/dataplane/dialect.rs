//! What differs between releases of the Data Plane API: paths, error statuses, fields, decoding.
//! Pure tables; no socket, no HTTP.

/// A release of the Data Plane API that stands for its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// 2.9: paths under `/v2`, an unknown backend is an empty list.
    V2_9,
    /// 3.0: paths under `/v3`, an unknown backend is 500.
    V3_0,
    /// 3.2: an unknown backend is 404.
    V3_2,
    /// 3.3.6: as 3.2, with whole server objects and honest codes in bodies.
    V3_3_6,
}

impl Release {
    /// `v2` or `v3`.
    pub fn api(self) -> &'static str {
        match self {
            Release::V2_9 => "v2",
            Release::V3_0 | Release::V3_2 | Release::V3_3_6 => "v3",
        }
    }

    /// As `/info` prints it.
    pub fn version(self) -> &'static str {
        match self {
            Release::V2_9 => "v2.9.19",
            Release::V3_0 => "v3.0.0",
            Release::V3_2 => "v3.2.15",
            Release::V3_3_6 => "v3.3.6",
        }
    }

    /// The status of a list without data: unknown backend, or a dead HAProxy. `None`: 200 and an empty list.
    pub(super) fn list_without_data(self) -> Option<u16> {
        match self {
            Release::V2_9 => None,
            Release::V3_0 => Some(500),
            Release::V3_2 | Release::V3_3_6 => Some(404),
        }
    }

    /// The status of a change to a server that is not found.
    pub(super) fn change_without_data(self) -> u16 {
        match self {
            Release::V2_9 | Release::V3_0 => 500,
            Release::V3_2 | Release::V3_3_6 => 404,
        }
    }

    /// Whether servers have all 26 fields or six.
    pub(super) fn whole_objects(self) -> bool {
        self == Release::V3_3_6
    }

    /// The `code` inside the body of a 422.
    pub(super) fn invalid_value_code(self) -> u16 {
        if self == Release::V3_3_6 { 422 } else { 606 }
    }

    /// Whether requests that do not accept JSON are refused.
    pub(super) fn checks_accept(self) -> bool {
        self == Release::V3_3_6
    }

    /// Whether an unknown path asks for credentials before it says 404.
    pub(super) fn unknown_path_after_login(self) -> bool {
        self == Release::V3_3_6
    }
}

/// How the administrative mask is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoding {
    /// As every release does: the decimal digits are taken for hexadecimal ones.
    Hexadecimal,
    /// As it should be.
    Right,
}

impl Decoding {
    /// `ready`, `drain` or `maint`.
    pub fn admin_state(self, mask: u32) -> &'static str {
        let bits = match self {
            // A mask prints as decimal digits, and those are always hexadecimal digits too.
            Decoding::Hexadecimal => u32::from_str_radix(&mask.to_string(), 16).unwrap_or(mask),
            Decoding::Right => mask,
        };
        if bits & 0b10_0011 != 0 {
            "maint"
        } else if bits & 0b1_1000 != 0 {
            "drain"
        } else {
            "ready"
        }
    }
}

/// The operational state of the socket in the API's words.
pub(super) fn operational_state(number: u64) -> &'static str {
    match number {
        1 | 2 => "up",
        3 => "stopping",
        _ => "down",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_misread_as_the_real_api_does() {
        let table = [
            (0, "ready", "ready"),
            (8, "drain", "drain"),
            (1, "maint", "maint"),
            (5, "maint", "maint"),
            (4, "ready", "ready"),
            (12, "drain", "maint"),
            (16, "drain", "maint"),
            (32, "maint", "maint"),
            (40, "maint", "ready"),
            (64, "ready", "maint"),
            (72, "drain", "maint"),
        ];
        for (mask, right, api) in table {
            assert_eq!(Decoding::Right.admin_state(mask), right, "mask {mask}, rightly");
            assert_eq!(Decoding::Hexadecimal.admin_state(mask), api, "mask {mask}, as the API reads it");
        }
    }
}
